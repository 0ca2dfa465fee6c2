import type { UpdateWaitingJobsCall, WaitingJobResult } from "../../store/contract/edits.ts";
import { checkUpdate, updated } from "../../store/rules/edits.ts";
import type { JobStore } from "../job-store.ts";

export const updateWaitingJobs = (
  store: JobStore,
  { jobIds, change }: UpdateWaitingJobsCall,
  now: number,
): WaitingJobResult[] => {
  const changed = new Set<string>();
  return jobIds.map((jobId) => {
    const record = store.find(jobId);
    const refusal = checkUpdate(record?.row, change);
    if (record === undefined || refusal !== undefined)
      return { jobId, kind: refusal!, job: record?.row ?? null };
    if (!changed.has(jobId)) store.update(record, updated(record.row, change, now));
    changed.add(jobId);
    return { jobId, kind: "changed", job: record.row };
  });
};
