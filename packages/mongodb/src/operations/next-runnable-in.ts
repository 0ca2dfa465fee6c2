import type { NextRunnableCall } from "leasehold/adapter";
import { inSession } from "../collections.ts";
import { canBeClaimed, scopeFilter } from "../runnable.ts";
import type { Store, StoreCall } from "../store.ts";

export const nextRunnableIn = async (
  store: Store,
  call: StoreCall & NextRunnableCall,
): Promise<number | null> => {
  const now = call.now ?? (await store.clock.ask());
  const nexts = await Promise.all(
    call.requests.map((scope) =>
      store.collections.jobs.findOne(
        { ...scopeFilter(scope), $expr: canBeClaimed(call.maxAttempts) },
        { ...inSession(call.session), sort: { dueAt: 1 }, projection: { dueAt: 1 } },
      ),
    ),
  );
  const times = nexts.flatMap((job) => (job?.dueAt instanceof Date ? [job.dueAt.getTime()] : []));
  return times.length === 0 ? null : Math.max(0, Math.min(...times) - now);
};
