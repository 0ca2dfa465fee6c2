import { findRefusal, type LockHeldJobsCall, type LockResult, refuse } from "leasehold/adapter";
import type { Store, StoreCall } from "../store.ts";

export const lockHeldJobs = (store: Store, call: StoreCall & LockHeldJobsCall): Promise<LockResult[]> =>
  store.work(call, async (work) => {
    const jobIds = call.leases.map(({ jobId }) => jobId);
    // First the locks: what is read before them may be out of date.
    await work.touch(jobIds);
    const found = await work.findMany(jobIds);
    return call.leases.map(({ jobId, leaseToken }) => {
      const stored = found.get(jobId);
      if (stored === undefined) return refuse("not_found", undefined);
      return findRefusal(stored.row, leaseToken, work.now) ?? { kind: "locked" };
    });
  });
