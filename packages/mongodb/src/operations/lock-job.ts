import { findRefusal, type HeldLease, type LockResult, refuse } from "leasehold/adapter";
import type { Store, StoreCall } from "../store.ts";

export const lockJob = (store: Store, call: StoreCall & HeldLease): Promise<LockResult> =>
  store.work(call, async (work) => {
    // First the lock: what is read before it may be out of date.
    await work.touch([call.jobId]);
    const stored = await work.find(call.jobId);
    if (stored === undefined) return refuse("not_found", undefined);
    return findRefusal(stored.row, call.leaseToken, work.now) ?? { kind: "locked" };
  });
