import {
  type AddJobBlockersCall,
  BlockerCycleError,
  failedByBlocker,
  failureBy,
  JobNotFoundError,
  type StateJob,
  withBlockers,
} from "leasehold/adapter";
import { failDependants, findBlockerCycle } from "../dependants.ts";
import type { Store, StoreCall } from "../store.ts";

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
