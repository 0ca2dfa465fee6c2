import { type JobReference, referenceTo, type StateJob } from "../store/contract/job.ts";
import { failDependants as cascade, findCycle } from "../store/rules/dependants.ts";
import { failedByBlocker, withFewerBlockers } from "../store/rules/transitions.ts";
import { runSync } from "../store/rules/walk.ts";
import type { JobRecord } from "./groups.ts";
import { currentOf, dependantsOf, type Rows, update } from "./rows.ts";

/** A sequence has completed. Returns the jobs that became pending. */
export const unblockDependants = (rows: Rows, sequenceId: string, now: number): readonly JobReference[] => {
  const unblocked: JobReference[] = [];
  for (const dependant of dependantsOf(rows, sequenceId)) {
    const wasBlocked = dependant.row.status === "blocked";
    // By deduplication, two blockers of a job can be one sequence. Then both have completed.
    const completedBlockers = dependant.blockerIds.filter((id) => id === sequenceId).length;
    update(rows, dependant, withFewerBlockers(dependant.row, completedBlockers, now));
    if (wasBlocked && dependant.row.status === "pending") unblocked.push(referenceTo(dependant.row));
  }
  return unblocked;
};

/** A sequence has failed. Returns the jobs that failed with it. */
export const failDependants = (rows: Rows, sequenceId: string, now: number): readonly JobReference[] => {
  if (!rows.dependants.has(sequenceId)) return [];
  const failed = cascade<StateJob>(
    {
      dependants: (blockers) =>
        blockers.flatMap(({ sequenceId: blockerId }) =>
          dependantsOf(rows, blockerId).map(({ row: job }) => ({ job, blockerId })),
        ),
      fail: (failures) => {
        for (const { job, ...cause } of failures)
          update(rows, rows.jobs.get(job.id)!, failedByBlocker(job, cause, now));
      },
    },
    [currentOf(rows, sequenceId)!.row],
  );
  return runSync(failed).get(sequenceId) ?? [];
};

export const isFailedSequence = (rows: Rows, sequenceId: string): boolean =>
  currentOf(rows, sequenceId)?.row.status === "failed";

/** The path from one of the blockers to the sequence, if a blocker waits for the sequence. */
export const findBlockerCycle = (
  rows: Rows,
  sequenceId: string,
  blockerIds: readonly string[],
): string[] | undefined => {
  // No job waits yet for the sequence of a new job.
  if (!rows.dependants.has(sequenceId) && !blockerIds.includes(sequenceId)) return undefined;
  return runSync(
    findCycle(sequenceId, blockerIds, (sequenceIds) =>
      sequenceIds.flatMap((waitsFor) =>
        dependantsOf(rows, waitsFor)
          .filter(({ row }) => row.status === "blocked")
          .map(({ row }) => ({ sequenceId: row.sequenceId, waitsFor })),
      ),
    ),
  );
};

/** The roots outside `rootSequenceIds` with a job, finished or not, that was given a sequence of this tree as blocker. */
export const dependantRoots = (rows: Rows, tree: JobRecord[], rootSequenceIds: Set<string>): string[] =>
  tree
    .flatMap(({ row }) => (row.sequenceIndex > 0 ? [] : dependantsOf(rows, row.sequenceId)))
    .map(({ row }) => row.rootSequenceId)
    .filter((id) => !rootSequenceIds.has(id));
