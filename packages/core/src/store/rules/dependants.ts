import { cut, parseStoredError, type StoredError } from "../../base/stored-error.ts";
import { type JobReference, referenceTo, type StateJob } from "../contract/job.ts";
import { answer, type Awaitable, type Walk } from "./walk.ts";

const longestMessage = 1_000;

const longestSummary = 300;

const errorName = "BlockerFailedError";

/** Without stacks: a failure may take thousands of jobs along. */
const withoutStack = ({ name, message, code }: StoredError): StoredError => ({
  name,
  message: cut(message, longestMessage),
  ...(code === undefined ? {} : { code }),
});

/**
 * The error of a job that fails because a sequence it waits for has failed: says which one, and what began it. Its cause
 * is the error at the beginning, through however many levels, so that the text does not grow with them.
 */
export const blockerErrorText = (
  blocker: Pick<StateJob, "sequenceId" | "sequenceTypeName" | "lastError">,
): string => {
  const { sequenceId, sequenceTypeName, lastError } = blocker;
  const own = parseStoredError(lastError);
  const first = own?.name === errorName ? own.cause : own;
  const story = `It waited for sequence ${sequenceId} ("${sequenceTypeName}"), which failed`;
  const stored: StoredError =
    first === undefined || first === null
      ? { name: errorName, message: `${story}.` }
      : {
          name: errorName,
          message: `${story}: ${first.name}: ${cut(first.message, longestSummary)}`,
          cause: withoutStack(first),
        };
  return JSON.stringify(stored);
};

/** What the rules for failed blockers need of a job. */
export type CascadeJob = JobReference & Pick<StateJob, "status" | "onBlockerFailure" | "lastError">;

/** A job that waits for a blocker. */
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

/** A job's failure because of a blocker that failed. */
export const failureBy = <TJob>(
  job: TJob,
  blocker: Pick<StateJob, "sequenceId" | "sequenceTypeName" | "lastError">,
): BlockerFailure<TJob> => ({
  job,
  blockerSequenceId: blocker.sequenceId,
  error: blockerErrorText(blocker),
});

/** What a store offers to the rules for failed blockers. */
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

/** A sequence that waits for another. */
export interface WaitingSequence {
  readonly sequenceId: string;
  /** The one of the sequences asked about that it waits for. */
  readonly waitsFor: string;
}

/** The sequences whose current job is blocked by one of these. */
export type FindWaiting = (sequenceIds: readonly string[]) => Awaitable<readonly WaitingSequence[]>;

/**
 * Walks from a sequence up through all that wait for it. If one of the blockers is met, waiting for them would close a
 * cycle: returns the way from that blocker to the sequence. This direction because usually no job waits yet for the
 * sequence of a new job.
 */
export function* findCycle(
  sequenceId: string,
  blockerIds: readonly string[],
  findWaiting: FindWaiting,
): Walk<string[] | undefined> {
  const blockers = new Set(blockerIds);
  if (blockers.has(sequenceId)) return [sequenceId];
  const waitsFor = new Map<string, string | null>([[sequenceId, null]]);
  let level = [sequenceId];
  while (level.length > 0) {
    const found: string[] = [];
    for (const waiting of yield* answer(findWaiting(level))) {
      if (waitsFor.has(waiting.sequenceId)) continue;
      waitsFor.set(waiting.sequenceId, waiting.waitsFor);
      if (blockers.has(waiting.sequenceId)) return wayFrom(waiting.sequenceId, waitsFor);
      found.push(waiting.sequenceId);
    }
    level = found;
  }
  return undefined;
}

const wayFrom = (start: string, waitsFor: ReadonlyMap<string, string | null>): string[] => {
  const way: string[] = [];
  for (let step: string | null = start; step !== null; step = waitsFor.get(step) ?? null) way.push(step);
  return way;
};
