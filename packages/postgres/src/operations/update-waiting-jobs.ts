import {
  judgeUpdate,
  type StateJob,
  updated,
  type UpdateWaitingJobsCall,
  type WaitingJobResult,
} from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { asStateJob, lockJobs } from "../lock-jobs.ts";
import { saveWaitingJobs } from "../save-waiting-jobs.ts";

export const updateWaitingJobs = (
  database: Database,
  call: Call & UpdateWaitingJobsCall,
): Promise<WaitingJobResult[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const { jobIds, change } = call;
    // What a claim has taken in the meantime shows here as running.
    const { jobs, at: now } = await lockJobs(database, { ctx, now: call.now }, jobIds);
    const changed = new Map<string, StateJob>();
    const results = jobIds.map((jobId): WaitingJobResult => {
      const locked = jobs.get(jobId);
      const before = locked && asStateJob(locked);
      const refusal = judgeUpdate(before, change);
      if (before === undefined || refusal !== undefined)
        return { jobId, kind: refusal!, job: before ?? null };
      const job = changed.get(jobId) ?? updated(before, change, now);
      changed.set(jobId, job);
      return { jobId, kind: "changed", job };
    });
    await saveWaitingJobs(database, { ctx, now }, [...changed.values()]);
    return results;
  });
