import {
  assertLeaseDuration,
  findRefusal,
  type LeaseRenewal,
  refuse,
  type RenewalResult,
  type RenewLeasesCall,
} from "leasehold/adapter";
import type { Store, StoreCall } from "../store.ts";
import { isConflict } from "../transient-errors.ts";
import type { Work } from "../work.ts";

const renew = async (
  work: Work,
  { jobId, leaseToken, leaseMs, progress }: LeaseRenewal,
): Promise<RenewalResult> => {
  const stored = await work.find(jobId);
  if (stored === undefined) return refuse("not_found", undefined);
  const refusal = findRefusal(stored.row, leaseToken, work.now);
  if (refusal !== undefined) return refusal;
  const leasedUntil = work.now + leaseMs;
  work.save(stored, { ...stored.row, leasedUntil, progress: progress ?? stored.row.progress });
  return { kind: "renewed", leasedUntil };
};

const renewAll = async (work: Work, leases: readonly LeaseRenewal[]): Promise<RenewalResult[]> => {
  await work.findMany(leases.map(({ jobId }) => jobId));
  const results: RenewalResult[] = [];
  for (const lease of leases) results.push(await renew(work, lease));
  return results;
};

/** All in one transaction; if one of them is held by another, each in one of its own, and that one is busy. */
export const renewLeases = async (
  store: Store,
  call: StoreCall & RenewLeasesCall,
): Promise<RenewalResult[]> => {
  for (const { leaseMs } of call.leases) assertLeaseDuration(leaseMs);
  if (call.session !== undefined) return store.work(call, (work) => renewAll(work, call.leases));
  const now = call.now ?? (await store.clock.ask());
  const attempt = (leases: readonly LeaseRenewal[]) =>
    store.attemptWork(now, (work) => renewAll(work, leases));
  try {
    return await attempt(call.leases);
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
  const results: RenewalResult[] = [];
  for (const lease of call.leases) {
    try {
      results.push(...(await attempt([lease])));
    } catch (error) {
      if (!isConflict(error)) throw error;
      results.push({ kind: "busy" });
    }
  }
  return results;
};
