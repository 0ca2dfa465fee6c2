import { type JobReference, referenceTo, type StateJob } from "../store/contract/job.ts";
import { failDependants as walkFailure } from "../store/rules/dependants.ts";
import { findCycle, type WaitingSequence } from "../store/rules/dependants.ts";
import { failedByBlocker, withFewerBlockers } from "../store/rules/transitions.ts";
import { runSync } from "../store/rules/walk.ts";
import type { JobRecord } from "./job-record.ts";
import type { JobStore } from "./job-store.ts";

// What the end of one sequence does to those that wait for it.

const nothing: readonly JobReference[] = [];

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
export const failDependants = (store: JobStore, sequenceId: string, now: number): readonly JobReference[] => {
  if (!store.hasDependants(sequenceId)) return nothing;
  const cascade = walkFailure<StateJob>(
    {
      dependants: (failed) =>
        failed.flatMap(({ sequenceId: blockerId }) =>
          Array.from(store.dependants(blockerId), ({ row: job }) => ({ job, blockerId })),
        ),
      fail: (failures) => {
        for (const { job, ...cause } of failures)
          store.update(store.find(job.id)!, failedByBlocker(job, cause, now));
      },
    },
    [store.current(sequenceId)!.row],
  );
  return runSync(cascade).get(sequenceId) ?? nothing;
};

/** Whether the current job of the sequence has failed. */
export const isFailedSequence = (store: JobStore, sequenceId: string): boolean =>
  store.current(sequenceId)?.row.status === "failed";

export const hasFailedBlocker = (store: JobStore, record: JobRecord): boolean =>
  record.blockerIds.some((sequenceId) => isFailedSequence(store, sequenceId));

/** The way from one of the blockers to the sequence, if one of them waits for it. */
export const findBlockerCycle = (
  store: JobStore,
  sequenceId: string,
  blockerIds: readonly string[],
): string[] | undefined => {
  // Nobody waits yet for the sequence of a new job.
  if (!store.hasDependants(sequenceId) && !blockerIds.includes(sequenceId)) return undefined;
  return runSync(
    findCycle(sequenceId, blockerIds, (sequenceIds) =>
      sequenceIds.flatMap((waitsFor) => {
        const waiting: WaitingSequence[] = [];
        for (const { row } of store.dependants(waitsFor))
          if (row.status === "blocked") waiting.push({ sequenceId: row.sequenceId, waitsFor });
        return waiting;
      }),
    ),
  );
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
