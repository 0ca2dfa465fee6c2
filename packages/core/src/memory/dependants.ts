import { type JobReference, referenceTo } from "../model/job.ts";
import type { JobRecord } from "./job-record.ts";
import type { JobStore } from "./job-store.ts";
import { failedByBlocker, withFewerBlockers } from "../rules/transitions.ts";

// What the end of one sequence does to those that wait for it. Lists of work instead of recursion: a chain may be
// longer than the call stack.

/** A sequence has completed. Returns the jobs that became pending. */
export const unblockDependants = (store: JobStore, sequenceId: string, now: number): JobReference[] => {
  const unblocked: JobReference[] = [];
  for (const dependant of store.dependants(sequenceId)) {
    const wasBlocked = dependant.row.status === "blocked";
    // Two blockers of a job can turn out to be one sequence, by deduplication; then both are done.
    const completedBlockers = dependant.blockerIds.filter((id) => id === sequenceId).length;
    store.update(dependant, withFewerBlockers(dependant.row, completedBlockers, now));
    if (wasBlocked && dependant.row.status === "pending") unblocked.push(referenceTo(dependant.row));
  }
  return unblocked;
};

/** A sequence has failed. Returns the jobs that failed with it. */
export const failDependants = (store: JobStore, sequenceId: string, now: number): JobReference[] => {
  const cascaded: JobReference[] = [];
  const failedSequenceIds = [sequenceId];
  for (const failedSequenceId of failedSequenceIds) {
    const blocker = store.current(failedSequenceId)!.row;
    for (const dependant of store.dependants(failedSequenceId)) {
      if (dependant.row.status !== "blocked" || dependant.row.onBlockerFailure === "wait") continue;
      store.update(dependant, failedByBlocker(dependant.row, blocker, now));
      cascaded.push(referenceTo(dependant.row));
      failedSequenceIds.push(dependant.row.sequenceId);
    }
  }
  return cascaded;
};

/** Whether the current job of the sequence has failed. */
export const isFailedSequence = (store: JobStore, sequenceId: string): boolean =>
  store.current(sequenceId)?.row.status === "failed";

export const hasFailedBlocker = (store: JobStore, record: JobRecord): boolean =>
  record.blockerIds.some((sequenceId) => isFailedSequence(store, sequenceId));

/**
 * Walks from the job's sequence up through whoever waits for it; meeting one of the blockers, it returns the way there.
 * This direction because nobody waits yet for the sequence of a new job, which is nearly always the case.
 */
export const findCycle = (
  store: JobStore,
  { row }: JobRecord,
  blockerIds: readonly string[],
): string[] | undefined => {
  const blockers = new Set(blockerIds);
  const waitsFor = new Map<string, string | null>([[row.sequenceId, null]]);
  for (const sequenceId of waitsFor.keys()) {
    if (blockers.has(sequenceId)) {
      const path: string[] = [];
      for (let step: string | null = sequenceId; step !== null; step = waitsFor.get(step) ?? null)
        path.push(step);
      return path;
    }
    for (const dependant of store.dependants(sequenceId)) {
      const { status, sequenceId: waiting } = dependant.row;
      if (status === "blocked" && !waitsFor.has(waiting)) waitsFor.set(waiting, sequenceId);
    }
  }
  return undefined;
};

/** The roots outside `rootSequenceIds` with a job, finished or not, that was given a sequence of this tree as blocker. */
export function* findDependantRoots(
  store: JobStore,
  tree: readonly JobRecord[],
  rootSequenceIds: ReadonlySet<string>,
): Iterable<string> {
  for (const { row } of tree) {
    if (row.sequenceIndex > 0) continue;
    for (const { row: dependant } of store.dependants(row.sequenceId)) {
      if (!rootSequenceIds.has(dependant.rootSequenceId)) yield dependant.rootSequenceId;
    }
  }
}
