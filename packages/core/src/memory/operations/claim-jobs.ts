import type { ClaimCall } from "../../store/contract/claims.ts";
import type { StateJob } from "../../store/contract/job.ts";
import { remainingLimits } from "../../store/rules/checks.ts";
import { assertLeaseDuration } from "../../store/rules/checks.ts";
import { expiredAttempt } from "../../store/rules/transitions.ts";
import { claimed } from "../../store/rules/transitions.ts";
import { recordAttempt } from "../job-history.ts";
import type { JobRecord } from "../job-record.ts";
import type { JobStore } from "../job-store.ts";
import { createSearch, endSearch, takeRunnable } from "../runnable.ts";
import { claimFairly } from "../take-in-turn.ts";

/** The jobs that an earlier call with this token took. A lease that has expired since is no longer held. */
const findClaimedByToken = (store: JobStore, leaseToken: string, now: number): StateJob[] => {
  const held: JobRecord[] = [];
  for (const record of store.runnable.running()) {
    if (record.row.leaseToken === leaseToken && (record.row.leasedUntil ?? 0) > now) held.push(record);
  }
  return held.sort((a, b) => b.row.priority - a.row.priority || a.order - b.order).map(({ row }) => row);
};

export const claimJobs = (store: JobStore, call: ClaimCall, now: number): StateJob[] => {
  assertLeaseDuration(call.leaseMs);
  const jobs = call.isRepeat === true ? findClaimedByToken(store, call.leaseToken, now) : [];
  const limits = remainingLimits(call.requests, jobs);
  const search = createSearch(now, call.maxAttempts);
  for (const [index, request] of call.requests.entries()) {
    const limit = Math.min(limits[index]!, call.limit - jobs.length);
    const take = (record: JobRecord, limited = false): void => {
      if (record.row.status === "running") recordAttempt(store, record, expiredAttempt(record.row));
      const row = claimed(record.row, call, now);
      store.update(record, limited ? { ...row, limited } : row);
      jobs.push(record.row);
    };
    if (store.runnable.usesFlow(request.queue)) claimFairly(store, request, limit, search, take);
    else takeRunnable(store, request, limit, search, take);
  }
  endSearch(search);
  return jobs;
};
