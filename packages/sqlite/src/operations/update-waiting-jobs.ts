import { judgeUpdate, type StateJob, updated, type WaitingJobResult } from "leasehold/adapter";
import type { Operation } from "../operation.ts";
import type { WaitingJobs } from "../waiting-jobs.ts";
import type { JobLookup } from "./get-jobs.ts";

export const prepareUpdateWaitingJobs =
  (lookup: JobLookup, waiting: WaitingJobs): Operation<"updateWaitingJobs"> =>
  (db, { jobIds, change }, now) => {
    const changed = new Map<string, StateJob>();
    const stored = lookup.getJobs(db, jobIds);
    return jobIds.map((jobId, index): WaitingJobResult => {
      const before = stored[index];
      const refusal = judgeUpdate(before, change);
      if (before === undefined || refusal !== undefined)
        return { jobId, kind: refusal!, job: before ?? null };
      const job = changed.get(jobId) ?? updated(before, change, now);
      if (!changed.has(jobId)) waiting.save(db, job, now);
      changed.set(jobId, job);
      return { jobId, kind: "changed", job };
    });
  };
