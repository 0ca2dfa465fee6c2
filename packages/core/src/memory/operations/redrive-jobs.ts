import { type JobReference, referenceTo } from "../../model/job.ts";
import type { RedriveResult } from "../../contracts/state-adapter.ts";
import { findCycle, hasFailedBlocker } from "../dependants.ts";
import type { JobRecord } from "../job-record.ts";
import type { JobStore } from "../job-store.ts";
import { revived } from "../../rules/transitions.ts";

const hasLiveDuplicate = (store: JobStore, { row }: JobRecord): boolean => {
  const first = store.find(row.sequenceId);
  return first !== undefined && store.deduplication.hasOtherLive(first);
};

// A job that waits whatever becomes of its blockers can wait again.
const isHeldBack = (store: JobStore, record: JobRecord): boolean =>
  record.row.onBlockerFailure === "fail" && hasFailedBlocker(store, record);

/** Since it failed, a sequence it waits for may have come to wait for its own. */
const wouldWaitForItself = (store: JobStore, record: JobRecord): boolean =>
  record.row.openBlockers > 0 && findCycle(store, record, record.blockerIds) !== undefined;

/** The sequence is alive again: so are the jobs that only its failure had taken along, and theirs. */
const reviveDependants = (store: JobStore, sequenceId: string, from: number): JobReference[] => {
  const references: JobReference[] = [];
  const revivedSequenceIds = [sequenceId];
  for (const revivedSequenceId of revivedSequenceIds) {
    for (const dependant of store.dependants(revivedSequenceId)) {
      if (dependant.row.failureReason !== "blocker_failed") continue;
      if (hasFailedBlocker(store, dependant) || hasLiveDuplicate(store, dependant)) continue;
      if (wouldWaitForItself(store, dependant)) continue;
      store.update(dependant, revived(dependant.row, from));
      references.push(referenceTo(dependant.row));
      revivedSequenceIds.push(dependant.row.sequenceId);
    }
  }
  return references;
};

const redrive = (
  store: JobStore,
  record: JobRecord,
  from: number,
): Pick<RedriveResult, "kind" | "revived"> => {
  // Alive by now: another job of this call brought it back.
  if (record.row.status !== "failed") return { kind: "redriven", revived: [] };
  if (hasLiveDuplicate(store, record)) return { kind: "duplicate_live", revived: [] };
  if (wouldWaitForItself(store, record)) return { kind: "blocker_cycle", revived: [] };
  store.update(record, revived(record.row, from));
  return { kind: "redriven", revived: reviveDependants(store, record.row.sequenceId, from) };
};

export const redriveJobs = (store: JobStore, jobIds: readonly string[], from: number): RedriveResult[] => {
  const decided = new Map<string, Pick<RedriveResult, "kind" | "revived">>();
  let undecided: JobRecord[] = [];
  for (const jobId of new Set(jobIds)) {
    const record = store.find(jobId);
    if (record === undefined) decided.set(jobId, { kind: "not_found", revived: [] });
    else if (record.row.status !== "failed") decided.set(jobId, { kind: "not_failed", revived: [] });
    else undecided.push(record);
  }

  // Rounds, so that a job named together with its blocker is revived whichever of the two comes first.
  for (let before = -1; before !== undecided.length;) {
    before = undecided.length;
    undecided = undecided.filter((record) => {
      if (record.row.status === "failed" && isHeldBack(store, record)) return true;
      decided.set(record.id, redrive(store, record, from));
      return false;
    });
  }

  return jobIds.map((jobId) => ({
    jobId,
    ...(decided.get(jobId) ?? { kind: "blocker_failed", revived: [] }),
    job: store.find(jobId)?.row ?? null,
  }));
};
