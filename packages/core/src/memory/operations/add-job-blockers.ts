import type { AddJobBlockersCall } from "../../store/contract/creation.ts";
import { BlockerCycleError, JobNotFoundError } from "../../store/errors.ts";
import type { StateJob } from "../../store/contract/job.ts";
import { failDependants, findBlockerCycle, isFailedSequence } from "../dependants.ts";
import type { JobStore } from "../job-store.ts";
import { failureBy } from "../../store/rules/dependants.ts";
import { failedByBlocker, withBlockers } from "../../store/rules/transitions.ts";

export const addJobBlockers = (store: JobStore, call: AddJobBlockersCall, now: number): StateJob => {
  const record = store.find(call.jobId);
  if (record === undefined) throw new JobNotFoundError(call.jobId);
  if (record.row.status !== "blocked")
    throw new Error(`Job ${call.jobId} was not created to wait for blockers.`);

  let openBlockers = 0;
  for (const sequenceId of call.blockerSequenceIds) {
    const current = store.current(sequenceId);
    if (current === undefined) throw new JobNotFoundError(sequenceId, "job sequence");
    if (current.row.status !== "completed") openBlockers += 1;
  }
  const cycle = findBlockerCycle(store, record.row.sequenceId, call.blockerSequenceIds);
  if (cycle !== undefined) throw new BlockerCycleError(call.jobId, cycle);

  store.setBlockers(record, [...call.blockerSequenceIds]);
  store.update(record, withBlockers(record.row, call.blockerSequenceIds.length, openBlockers));
  const failedBlockerId = call.blockerSequenceIds.find((sequenceId) => isFailedSequence(store, sequenceId));
  if (failedBlockerId !== undefined && record.row.onBlockerFailure === "fail") {
    store.update(
      record,
      failedByBlocker(record.row, failureBy(record.row, store.current(failedBlockerId)!.row), now),
    );
    failDependants(store, record.row.sequenceId, now);
  }
  return record.row;
};
