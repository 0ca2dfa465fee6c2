import {
  type AddJobBlockersCall,
  BlockerCycleError,
  failDependants as walkFailure,
  failedByBlocker,
  failureBy,
  findCycle,
  JobNotFoundError,
  type JobReference,
  referenceTo,
  runAsync,
  type StateJob,
  withBlockers,
  withFewerBlockers,
} from "leasehold/adapter";
import type { Store, StoreCall } from "../database/database.ts";
import type { Work } from "../database/transactions.ts";

// How the end of a sequence changes the jobs that wait for it.

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

export const addJobBlockers = (store: Store, call: StoreCall & AddJobBlockersCall): Promise<StateJob> =>
  store.work(call, async (work) => {
    const stored = await work.find(call.jobId);
    if (stored === undefined) throw new JobNotFoundError(call.jobId);
    if (stored.row.status !== "blocked")
      throw new Error(`Job ${call.jobId} was not created to wait for blockers.`);

    const currents = await work.currents(call.blockerSequenceIds);
    const missing = call.blockerSequenceIds.find((id) => !currents.has(id));
    if (missing !== undefined) throw new JobNotFoundError(missing, "job sequence");
    // None of them may finish unseen meanwhile.
    await work.touchBlockers([...new Set([...currents.values()].map(({ row }) => row.id))]);
    const cycle = await findBlockerCycle(work, stored.row.sequenceId, call.blockerSequenceIds);
    if (cycle !== undefined) throw new BlockerCycleError(call.jobId, cycle);

    const open = call.blockerSequenceIds.filter((id) => currents.get(id)?.row.status !== "completed").length;
    const count = call.blockerSequenceIds.length;
    let saved = work.save(stored, withBlockers(stored.row, count, open), [...call.blockerSequenceIds]);
    const failedId = call.blockerSequenceIds.find((id) => currents.get(id)?.row.status === "failed");
    const failed = failedId === undefined ? undefined : currents.get(failedId);
    if (failed !== undefined && saved.row.onBlockerFailure === "fail") {
      saved = work.save(saved, failedByBlocker(saved.row, failureBy(saved.row, failed.row), work.now));
      await failDependants(work, saved.row);
    }
    return saved.row;
  });
