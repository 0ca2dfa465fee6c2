import type { LeaseRenewal, RenewalResult } from "../../store/contract/claims.ts";
import { assertLeaseDuration, findRefusal, refuse } from "../../store/rules/checks.ts";
import type { JobStore } from "../job-store.ts";

export const renewLeases = (
  store: JobStore,
  leases: readonly LeaseRenewal[],
  now: number,
): RenewalResult[] => {
  for (const { leaseMs } of leases) assertLeaseDuration(leaseMs);
  return leases.map(({ jobId, leaseToken, leaseMs, progress }) => {
    const record = store.find(jobId);
    if (record === undefined) return refuse("not_found", undefined);
    const refusal = findRefusal(record.row, leaseToken, now);
    if (refusal !== undefined) return refusal;
    const leasedUntil = now + leaseMs;
    store.update(record, { ...record.row, leasedUntil, progress: progress ?? record.row.progress });
    return { kind: "renewed", leasedUntil };
  });
};
