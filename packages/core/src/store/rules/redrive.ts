import { type JobReference, referenceTo, type StateJob } from "../contract/job.ts";
import type { RedriveResult } from "../contract/outcomes.ts";
import { answer, type Awaitable, type Walk } from "./walk.ts";

/** What a store offers to the rules for redriving. */
export interface RedrivePort<TJob extends StateJob> {
  /** The jobs as they are now, locked; absent when they do not exist. */
  find(jobIds: readonly string[]): Awaitable<ReadonlyMap<string, TJob>>;
  /** Whether reviving it concerns no other job: nothing blocks it, and its sequence has neither dependants nor a key. */
  isAlone(job: TJob): boolean;
  /** Whether a sequence that it waits for is failed. */
  hasFailedBlocker(job: TJob): Awaitable<boolean>;
  /** Whether an unfinished sequence other than its own has the deduplication key of its sequence. */
  hasLiveDuplicate(job: TJob): Awaitable<boolean>;
  /** Whether a sequence that it waits for has come to wait for its own. */
  waitsForItself(job: TJob): Awaitable<boolean>;
  /** The jobs that were given the sequence as a blocker. */
  dependants(sequenceId: string): Awaitable<Iterable<TJob>>;
  revive(jobs: readonly TJob[]): Awaitable<void>;
}

type Decision = Pick<RedriveResult, "kind" | "revived">;

const decision = (kind: RedriveResult["kind"], revived: readonly JobReference[] = []): Decision => ({
  kind,
  revived,
});

/** Why a failed job cannot be revived, in the order in which the reasons are reported. */
function* findObstacle<TJob extends StateJob>(
  port: RedrivePort<TJob>,
  job: TJob,
): Walk<"blocker_failed" | "duplicate_live" | "blocker_cycle" | undefined> {
  // A job that waits whatever becomes of its blockers can wait again.
  const mindsFailure = job.onBlockerFailure === "fail" && job.blockerCount > 0;
  if (mindsFailure && (yield* answer(port.hasFailedBlocker(job)))) return "blocker_failed";
  if (yield* answer(port.hasLiveDuplicate(job))) return "duplicate_live";
  if (job.openBlockers > 0 && (yield* answer(port.waitsForItself(job)))) return "blocker_cycle";
  return undefined;
}

/** The sequence is alive again: so are the jobs that failed because of it alone, and the jobs that wait for those. */
function* reviveDependants<TJob extends StateJob>(
  port: RedrivePort<TJob>,
  sequenceId: string,
): Walk<JobReference[]> {
  const references: JobReference[] = [];
  // A list of work instead of recursion: a chain may be longer than the call stack.
  const sequenceIds = [sequenceId];
  for (const revivedId of sequenceIds) {
    for (const job of yield* answer(port.dependants(revivedId))) {
      if (job.failureReason !== "blocker_failed") continue;
      if ((yield* findObstacle(port, job)) !== undefined) continue;
      yield* answer(port.revive([job]));
      references.push(referenceTo(job));
      sequenceIds.push(job.sequenceId);
    }
  }
  return references;
}

/** Undefined while a blocker is failed that another job of the call may bring back. */
function* redriveOne<TJob extends StateJob>(
  port: RedrivePort<TJob>,
  jobId: string,
): Walk<Decision | undefined> {
  const job = (yield* answer(port.find([jobId]))).get(jobId);
  // Alive by now: another job of this call brought it back.
  if (job?.status !== "failed") return decision("redriven");
  const obstacle = yield* findObstacle(port, job);
  if (obstacle === "blocker_failed") return undefined;
  if (obstacle !== undefined) return decision(obstacle);
  yield* answer(port.revive([job]));
  return decision("redriven", yield* reviveDependants(port, job.sequenceId));
}

/** `redriveJobs` of the contract. */
export function* redriveJobs<TJob extends StateJob>(
  port: RedrivePort<TJob>,
  jobIds: readonly string[],
): Walk<Map<string, Decision>> {
  const decided = new Map<string, Decision>();
  const alone: TJob[] = [];
  let undecided: string[] = [];
  const jobs = yield* answer(port.find(jobIds));
  for (const jobId of new Set(jobIds)) {
    const job = jobs.get(jobId);
    if (job === undefined) decided.set(jobId, decision("not_found"));
    else if (job.status !== "failed") decided.set(jobId, decision("not_failed"));
    else if (port.isAlone(job)) alone.push(job);
    else undecided.push(jobId);
  }
  if (alone.length > 0) yield* answer(port.revive(alone));
  for (const { id } of alone) decided.set(id, decision("redriven"));

  // Rounds, so that a job named together with its blocker is revived whichever of the two comes first.
  for (let before = -1; before !== undecided.length;) {
    before = undecided.length;
    const left: string[] = [];
    for (const jobId of undecided) {
      const made = yield* redriveOne(port, jobId);
      if (made === undefined) left.push(jobId);
      else decided.set(jobId, made);
    }
    undecided = left;
  }
  for (const jobId of undecided) decided.set(jobId, decision("blocker_failed"));
  return decided;
}
