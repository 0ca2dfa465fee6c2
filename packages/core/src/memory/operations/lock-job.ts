import type { HeldLease, LockResult } from "../../contracts/state-adapter.ts";
import { findRefusal, refuse } from "../../rules/lease-checks.ts";
import type { JobStore } from "../job-store.ts";

/** With one writer at a time the open transaction has every row locked already. Only the lease is left to check. */
export const lockJob = (store: JobStore, { jobId, leaseToken }: HeldLease, now: number): LockResult => {
  const row = store.find(jobId)?.row;
  if (row === undefined) return refuse("not_found", undefined);
  return findRefusal(row, leaseToken, now) ?? { kind: "locked" };
};
