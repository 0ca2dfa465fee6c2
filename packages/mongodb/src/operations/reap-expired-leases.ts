import { type ReapCall, reaped, type ReapedJob } from "leasehold/adapter";
import { failDependants } from "../dependants.ts";
import type { Store, StoreCall } from "../store.ts";
import { isConflict } from "../transient-errors.ts";
import type { Work } from "../work.ts";

const reap = async (work: Work, id: string, call: ReapCall): Promise<ReapedJob | undefined> => {
  const stored = await work.find(id);
  if (stored === undefined || stored.row.status !== "running") return undefined;
  if ((stored.row.leasedUntil ?? Number.POSITIVE_INFINITY) > work.now) return undefined;
  const { row } = work.save(stored, reaped(stored.row, call, work.now));
  const cascaded = row.status === "failed" ? await failDependants(work, row) : [];
  return { job: row, previouslyLeasedBy: stored.row.leasedBy, cascaded };
};

const expiredIds = async (store: Store, call: StoreCall & ReapCall, now: number): Promise<string[]> => {
  const { jobs } = store.collections;
  const options = call.session === undefined ? {} : { session: call.session };
  const filter = { status: "running", dueAt: { $lte: new Date(now) } } as const;
  const found = await jobs
    .find(filter, { ...options, projection: { _id: 1 }, sort: { dueAt: 1 }, limit: call.limit })
    .toArray();
  return found.map(({ _id }) => _id);
};

/** Each in a transaction of its own, so that one that another holds is passed over. */
export const reapExpiredLeases = async (store: Store, call: StoreCall & ReapCall): Promise<ReapedJob[]> => {
  const now = call.now ?? (await store.clock.ask());
  const results: ReapedJob[] = [];
  for (const id of await expiredIds(store, call, now)) {
    try {
      const reapOne = (work: Work) => reap(work, id, call);
      const result = await (call.session === undefined
        ? store.attemptWork(now, reapOne)
        : store.work({ ...call, now }, reapOne));
      if (result !== undefined) results.push(result);
    } catch (error) {
      if (call.session !== undefined || !isConflict(error)) throw error;
    }
  }
  return results;
};
