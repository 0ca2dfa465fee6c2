import {
  failDependants as walkFailure,
  failedByBlocker,
  findCycle,
  type JobReference,
  referenceTo,
  runAsync,
  type StateJob,
  withFewerBlockers,
} from "leasehold/adapter";
import type { Work } from "./work.ts";

// What the end of one sequence does to those that wait for it.

/** A sequence has completed. Returns the jobs that became pending. */
export const unblockDependants = async (work: Work, sequenceId: string): Promise<JobReference[]> => {
  const unblocked: JobReference[] = [];
  for (const dependant of await work.dependants([sequenceId])) {
    // Two blockers of a job can turn out to be one sequence, by deduplication; then both are done.
    const completed = dependant.blockerIds.filter((id) => id === sequenceId).length;
    const { row } = work.save(dependant, withFewerBlockers(dependant.row, completed, work.now));
    if (dependant.row.status === "blocked" && row.status === "pending") unblocked.push(referenceTo(row));
  }
  return unblocked;
};

/** The sequence of this job has failed. Returns the jobs that failed with it. */
export const failDependants = async (work: Work, failed: StateJob): Promise<readonly JobReference[]> => {
  const cascade = walkFailure<StateJob>(
    {
      dependants: async (level) => {
        const ids = new Set(level.map(({ sequenceId }) => sequenceId));
        return (await work.dependants([...ids])).flatMap(({ row: job, blockerIds }) =>
          [...new Set(blockerIds)].filter((id) => ids.has(id)).map((blockerId) => ({ job, blockerId })),
        );
      },
      fail: async (failures) => {
        for (const { job, ...cause } of failures) {
          const stored = await work.find(job.id);
          if (stored !== undefined) work.save(stored, failedByBlocker(job, cause, work.now));
        }
      },
    },
    [failed],
  );
  return (await runAsync(cascade)).get(failed.sequenceId) ?? [];
};

/** The way from one of the blockers to the sequence, if one of them waits for it. Locks every job it walks over. */
export const findBlockerCycle = (
  work: Work,
  sequenceId: string,
  blockerIds: readonly string[],
): Promise<string[] | undefined> =>
  runAsync(
    findCycle(sequenceId, blockerIds, async (sequenceIds) => {
      const waiting = (await work.dependants(sequenceIds)).filter(({ row }) => row.status === "blocked");
      await work.touch(waiting.map(({ row }) => row.id));
      return waiting.flatMap(({ row, blockerIds: ids }) =>
        sequenceIds
          .filter((id) => ids.includes(id))
          .map((waitsFor) => ({ sequenceId: row.sequenceId, waitsFor })),
      );
    }),
  );
