import type { ReapCall } from "../../store/contract/claims.ts";
import type { CancelResult, RedriveResult } from "../../store/contract/outcomes.ts";
import type { JobReference } from "../../store/contract/job.ts";
import { addInterrupted, addLost } from "./attempts.ts";
import { cascadeFailure } from "./cascade.ts";
import { isLive, waitsFor } from "./create.ts";
import { liftStop, noteFailure } from "./limit-groups.ts";
import { attemptsOf, endLease } from "./leases.ts";
import {
  allJobs,
  blockersOf,
  currentJob,
  dependantsOf,
  isFailedSequence,
  type ModelJob,
  type ModelStore,
  referenceOf,
  setError,
} from "./store.ts";

/** Takes a lease that has run out away from its holder. */
export const reap = (
  store: ModelStore,
  job: ModelJob,
  { error, fingerprint, maxAttempts }: Omit<ReapCall, "limit">,
  now: number,
): JobReference[] => {
  const endedAt = job.leasedUntil ?? now;
  addLost(store, job);
  endLease(job, null);
  const excess = job.attempt - attemptsOf(job, maxAttempts);
  const mayRunAgain = excess < 0 || (job.expiredLeases > excess && excess <= 10);
  job.expiredLeases += 1;
  job.lastFailedAt = endedAt;
  if (mayRunAgain) {
    job.status = "pending";
    job.scheduledAt = endedAt;
    return [];
  }
  job.status = "failed";
  job.failedAt = now;
  job.failureReason = "attempts_exhausted";
  setError(job, error);
  if (fingerprint !== undefined) store.fingerprints.set(job.id, fingerprint);
  noteFailure(store, job);
  return cascadeFailure(store, job.sequenceId, now);
};

export type Cancellation = Pick<CancelResult, "sequenceId" | "kind" | "changed" | "wasRunning"> & {
  readonly job: ModelJob | null;
};

/** All that are named fail first; only then does their failure spread. */
export const cancel = (
  store: ModelStore,
  sequenceIds: readonly string[],
  error: string,
  now: number,
): { readonly results: Cancellation[]; readonly cascaded: JobReference[] } => {
  const results = sequenceIds.map((sequenceId): Cancellation => {
    const job = currentJob(store, sequenceId);
    const unchanged = { sequenceId, changed: false, wasRunning: false };
    if (job === undefined) return { ...unchanged, kind: "not_found", job: null };
    if (job.status === "completed") return { ...unchanged, kind: "already_completed", job };
    if (job.status === "failed") {
      const kind = job.failureReason === "cancelled" ? "cancelled" : "already_failed";
      return { ...unchanged, kind, job };
    }
    const wasRunning = job.status === "running";
    addInterrupted(store, job, "cancelled", now);
    endLease(job, null);
    job.status = "failed";
    job.failedAt = now;
    job.failureReason = "cancelled";
    setError(job, error);
    return { sequenceId, kind: "cancelled", changed: true, wasRunning, job };
  });
  const cascaded = results
    .filter(({ kind }) => kind === "cancelled")
    .flatMap(({ sequenceId }) => cascadeFailure(store, sequenceId, now));
  return { results, cascaded };
};

const hasLiveDuplicate = (store: ModelStore, job: ModelJob): boolean => {
  const key = store.jobs.get(job.sequenceId)?.deduplicationKey ?? null;
  return (
    key !== null &&
    allJobs(store).some(
      (other) =>
        other.sequenceIndex === 0 &&
        other.id !== job.sequenceId &&
        other.sequenceTypeName === job.sequenceTypeName &&
        other.deduplicationKey === key &&
        isLive(store, other),
    )
  );
};

const hasFailedBlocker = (store: ModelStore, job: ModelJob): boolean =>
  blockersOf(store, job).some((id) => isFailedSequence(store, id));

const wouldWaitForItself = (store: ModelStore, job: ModelJob): boolean =>
  blockersOf(store, job).some((blocker) => waitsFor(store, blocker, job.sequenceId));

const revive = (store: ModelStore, job: ModelJob, now: number, revived: JobReference[]): void => {
  job.status = job.openBlockers > 0 ? "blocked" : "pending";
  job.scheduledAt = Math.max(job.scheduledAt, now);
  job.attempt = 0;
  job.expiredLeases = 0;
  job.failedAt = null;
  job.failureReason = null;
  job.failedBlockerIds = [];
  store.fingerprints.delete(job.id);
  liftStop(store, job);
  for (const dependant of dependantsOf(store, job.sequenceId)) {
    if (dependant.failureReason !== "blocker_failed") continue;
    if (hasFailedBlocker(store, dependant) || hasLiveDuplicate(store, dependant)) continue;
    if (wouldWaitForItself(store, dependant)) continue;
    revived.push(referenceOf(dependant));
    revive(store, dependant, now, revived);
  }
};

export interface Redrive {
  readonly kinds: RedriveResult["kind"][];
  readonly revived: JobReference[];
}

/** Again and again until nothing changes, so that the order in which a job and its blocker are named does not matter. */
export const redrive = (store: ModelStore, jobIds: readonly string[], now: number): Redrive => {
  const revived: JobReference[] = [];
  const tryOne = (jobId: string): RedriveResult["kind"] => {
    const job = store.jobs.get(jobId);
    if (job === undefined) return "not_found";
    if (job.status !== "failed") return "not_failed";
    if (job.onBlockerFailure === "fail" && hasFailedBlocker(store, job)) return "blocker_failed";
    if (hasLiveDuplicate(store, job)) return "duplicate_live";
    if (wouldWaitForItself(store, job)) return "blocker_cycle";
    revive(store, job, now, revived);
    return "redriven";
  };
  const wasFailed = new Set(jobIds.filter((id) => store.jobs.get(id)?.status === "failed"));
  let kinds = jobIds.map(tryOne);
  for (let round = 0; round < jobIds.length; round += 1) {
    kinds = jobIds.map((id, index) => (kinds[index] === "blocker_failed" ? tryOne(id) : kinds[index]!));
  }
  // One that another of the call has brought back was redriven all the same.
  return {
    kinds: kinds.map((kind, index) =>
      kind === "not_failed" && wasFailed.has(jobIds[index]!) ? "redriven" : kind,
    ),
    revived,
  };
};
