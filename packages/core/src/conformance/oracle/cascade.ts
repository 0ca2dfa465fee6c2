import type { JobReference } from "../../store/contract/job.ts";
import {
  blockersOf,
  dependantsOf,
  isFailedSequence,
  type ModelJob,
  type ModelStore,
  referenceOf,
} from "./store.ts";

const failedBlockersOf = (store: ModelStore, job: ModelJob): string[] =>
  blockersOf(store, job).filter((id) => isFailedSequence(store, id));

export const failByBlocker = (store: ModelStore, job: ModelJob, now: number): void => {
  job.status = "failed";
  job.failedAt = now;
  job.failureReason = "blocker_failed";
  job.failedBlockerIds = failedBlockersOf(store, job);
  job.errorIsBlockers = true;
};

/** Fails the jobs that wait for a failed sequence, and the jobs that wait for these. */
export const cascadeFailure = (store: ModelStore, sequenceId: string, now: number): JobReference[] => {
  const failed: ModelJob[] = [];
  const visit = (failedSequenceId: string): void => {
    for (const dependant of dependantsOf(store, failedSequenceId)) {
      if (dependant.status !== "blocked" || dependant.onBlockerFailure === "wait") continue;
      failByBlocker(store, dependant, now);
      failed.push(dependant);
      visit(dependant.sequenceId);
    }
  };
  visit(sequenceId);
  // Only now is it known who else failed in the same moment.
  for (const job of failed) job.failedBlockerIds = failedBlockersOf(store, job);
  return failed.map(referenceOf);
};

/** A sequence has completed: each job that waits for it has one blocker fewer. */
export const unblock = (store: ModelStore, sequenceId: string, now: number): JobReference[] => {
  const unblocked: JobReference[] = [];
  for (const dependant of dependantsOf(store, sequenceId)) {
    dependant.openBlockers -= blockersOf(store, dependant).filter((id) => id === sequenceId).length;
    if (dependant.status !== "blocked" || dependant.openBlockers > 0) continue;
    dependant.status = "pending";
    dependant.scheduledAt = Math.max(dependant.scheduledAt, now);
    unblocked.push(referenceOf(dependant));
  }
  return unblocked;
};
