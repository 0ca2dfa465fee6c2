import { blockerErrorText } from "../model/blocker-error.ts";
import { type JobReference, referenceTo, type StateJob } from "../model/job.ts";
import { answer, type Awaitable, type Walk } from "./walk.ts";

export type CascadeJob = JobReference & Pick<StateJob, "status" | "onBlockerFailure" | "lastError">;

export interface Dependant<TJob> {
  readonly job: TJob;
  /** The one of the sequences asked about that it waits for. A job that waits for several comes several times. */
  readonly blockerId: string;
}

/** A job that fails because of a blocker. */
export interface BlockerFailure<TJob> {
  readonly job: TJob;
  readonly blockerSequenceId: string;
  readonly error: string;
}

export const failureBy = <TJob>(
  job: TJob,
  blocker: Pick<StateJob, "sequenceId" | "sequenceTypeName" | "lastError">,
): BlockerFailure<TJob> => ({
  job,
  blockerSequenceId: blocker.sequenceId,
  error: blockerErrorText(blocker),
});

export interface CascadePort<TJob extends CascadeJob> {
  /** The jobs that were given the sequences of these jobs as blockers, locked. */
  dependants(failed: readonly TJob[]): Awaitable<readonly Dependant<TJob>[]>;
  fail(failures: readonly BlockerFailure<TJob>[]): Awaitable<void>;
}

/**
 * The sequences of these jobs have failed: so do the blocked jobs that do not wait whatever happens, and so on through
 * theirs, level by level. The jobs come with the errors they have now. Returns what failed, by the sequence that began it.
 */
export function* failDependants<TJob extends CascadeJob>(
  port: CascadePort<TJob>,
  failed: readonly TJob[],
): Walk<Map<string, JobReference[]>> {
  const cascaded = new Map<string, JobReference[]>(failed.map(({ sequenceId }) => [sequenceId, []]));
  // Which of the given failures a failed sequence goes back to.
  const causes = new Map(failed.map(({ sequenceId }) => [sequenceId, sequenceId]));
  let level = failed;
  while (level.length > 0) {
    const failures = failuresOf(level, yield* answer(port.dependants(level)));
    if (failures.length === 0) return cascaded;
    yield* answer(port.fail(failures));
    const next: TJob[] = [];
    for (const { job, blockerSequenceId, error } of failures) {
      const cause = causes.get(blockerSequenceId)!;
      cascaded.get(cause)!.push(referenceTo(job));
      if (causes.has(job.sequenceId)) continue;
      causes.set(job.sequenceId, cause);
      next.push({ ...job, lastError: error });
    }
    level = next;
  }
  return cascaded;
}

/** Each job that fails with the level, by the first of the level that it waits for. */
const failuresOf = <TJob extends CascadeJob>(
  level: readonly TJob[],
  dependants: readonly Dependant<TJob>[],
): BlockerFailure<TJob>[] => {
  const ranks = new Map(level.map(({ sequenceId }, rank) => [sequenceId, rank]));
  const failing = new Map<string, { readonly job: TJob; readonly rank: number }>();
  for (const { job, blockerId } of dependants) {
    if (job.status !== "blocked" || job.onBlockerFailure === "wait") continue;
    const rank = ranks.get(blockerId)!;
    const known = failing.get(job.id);
    if (known === undefined || rank < known.rank) failing.set(job.id, { job, rank });
  }
  return [...failing.values()].map(({ job, rank }) => failureBy(job, level[rank]!));
};
