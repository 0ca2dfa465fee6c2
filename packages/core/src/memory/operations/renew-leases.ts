import type { HeldLease, LockResult, RenewalResult } from "../../contracts/state-adapter.ts";
import { assertLeaseDuration, findRefusal, refuse } from "../../rules/lease-checks.ts";
import type { JobStore } from "../job-store.ts";

export interface Renewal extends HeldLease {
  readonly leaseMs: number;
  readonly progress?: string | undefined;
}

export const renewLeases = (store: JobStore, renewals: readonly Renewal[], now: number): RenewalResult[] => {
  for (const { leaseMs } of renewals) assertLeaseDuration(leaseMs);
  return renewals.map(({ jobId, leaseToken, leaseMs, progress }) => {
    const record = store.find(jobId);
    if (record === undefined) return refuse("not_found", undefined);
    const refusal = findRefusal(record.row, leaseToken, now);
    if (refusal !== undefined) return refusal;
    const leasedUntil = now + leaseMs;
    store.update(record, { ...record.row, leasedUntil, progress: progress ?? record.row.progress });
    return { kind: "renewed", leasedUntil };
  });
};

/** With one writer at a time the open transaction has every row locked already; only the lease is left to check. */
export const lockJob = (store: JobStore, { jobId, leaseToken }: HeldLease, now: number): LockResult => {
  const row = store.find(jobId)?.row;
  if (row === undefined) return refuse("not_found", undefined);
  return findRefusal(row, leaseToken, now) ?? { kind: "locked" };
};
