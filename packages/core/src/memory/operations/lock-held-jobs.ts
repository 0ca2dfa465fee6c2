import type { LockHeldJobsCall, LockResult } from "../../store/contract/claims.ts";
import { findRefusal, refuse } from "../../store/rules/checks.ts";
import type { JobStore } from "../job-store.ts";

/** With one writer at a time the open transaction has every row locked already. Only the leases are left to check. */
export const lockHeldJobs = (store: JobStore, { leases }: LockHeldJobsCall, now: number): LockResult[] =>
  leases.map(({ jobId, leaseToken }) => {
    const row = store.find(jobId)?.row;
    if (row === undefined) return refuse("not_found", undefined);
    return findRefusal(row, leaseToken, now) ?? { kind: "locked" };
  });
