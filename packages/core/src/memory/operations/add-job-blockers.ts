import { BlockerCycleError, JobNotFoundError } from "../../errors.ts";
import type { StateJob } from "../../model/job.ts";
import { failDependants, isFailedSequence } from "../dependants.ts";
import type { JobRecord } from "../job-record.ts";
import type { JobStore } from "../job-store.ts";
import { failedByBlocker, withBlockers } from "../../rules/transitions.ts";

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

export const addJobBlockers = (
  store: JobStore,
  call: { readonly jobId: string; readonly blockerSequenceIds: readonly string[] },
  now: number,
): StateJob => {
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
  const cycle = findCycle(store, record, call.blockerSequenceIds);
  if (cycle !== undefined) throw new BlockerCycleError(call.jobId, cycle);

  store.setBlockers(record, [...call.blockerSequenceIds]);
  store.update(record, withBlockers(record.row, call.blockerSequenceIds.length, openBlockers));
  const failedBlockerId = call.blockerSequenceIds.find((sequenceId) => isFailedSequence(store, sequenceId));
  if (failedBlockerId !== undefined && record.row.onBlockerFailure === "fail") {
    store.update(record, failedByBlocker(record.row, store.current(failedBlockerId)!.row, now));
    failDependants(store, record.row.sequenceId, now);
  }
  return record.row;
};
