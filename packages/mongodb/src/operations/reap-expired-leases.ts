import { type ReapCall, reaped, type ReapedJob } from "leasehold/adapter";
import { failDependants } from "../dependants.ts";
import { divide } from "../divide.ts";
import { notHeld } from "../not-held.ts";
import type { Store, StoreCall } from "../store.ts";
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
  const filter = { status: "running", dueAt: { $lte: new Date(now) }, ...notHeld(store, call) } as const;
  const found = await jobs
    .find(filter, { ...options, projection: { _id: 1 }, sort: { dueAt: 1 }, limit: call.limit })
    .toArray();
  return found.map(({ _id }) => _id);
};

const reapAll = async (
  work: Work,
  ids: readonly string[],
  call: ReapCall,
): Promise<(ReapedJob | undefined)[]> => {
  await work.findMany(ids);
  const results: (ReapedJob | undefined)[] = [];
  for (const id of ids) results.push(await reap(work, id, call));
  return results;
};

/** In a transaction, which waits for nobody; jobs that another one holds are passed over. */
export const reapExpiredLeases = async (store: Store, call: StoreCall & ReapCall): Promise<ReapedJob[]> => {
  const now = call.now ?? (await store.clock.ask());
  const ids = await expiredIds(store, call, now);
  const results =
    call.session === undefined
      ? await divide(
          ids,
          (some) => store.attemptWork(now, (work) => reapAll(work, some, call)),
          (id) => {
            store.setAside.add(id);
            return undefined;
          },
        )
      : await store.work({ ...call, now }, (work) => reapAll(work, ids, call));
  return results.filter((result) => result !== undefined);
};
