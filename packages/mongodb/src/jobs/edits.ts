import {
  checkUpdate,
  expired,
  type ExpireCall,
  type ExpiredJob,
  expiresAt,
  type StateJob,
  updated,
  type UpdateWaitingJobsCall,
  type WaitingJobResult,
} from "leasehold/adapter";
import { inSession } from "../database/collections.ts";
import { divide } from "../database/contention.ts";
import type { Store, StoreCall } from "../database/database.ts";
import type { Work } from "../database/transactions.ts";
import { skipLocked } from "./claim.ts";
import { failDependants } from "./dependants.ts";

/** A claim that takes a job after it was read conflicts with the write. */
export const updateWaitingJobs = (
  store: Store,
  call: StoreCall & UpdateWaitingJobsCall,
): Promise<WaitingJobResult[]> =>
  store.work(call, async (work) => {
    const { jobIds, change } = call;
    const found = await work.findMany(jobIds);
    const changed = new Map<string, StateJob>();
    for (const [id, stored] of found) {
      if (checkUpdate(stored.row, change) !== undefined) continue;
      changed.set(id, work.save(stored, updated(stored.row, change, work.now)).row);
    }
    return jobIds.map((jobId): WaitingJobResult => {
      const job = changed.get(jobId);
      if (job !== undefined) return { jobId, kind: "changed", job };
      const row = found.get(jobId)?.row;
      return { jobId, kind: checkUpdate(row, change)!, job: row ?? null };
    });
  });

/** Jobs that have waited too long for their first attempt, without the ones that other transactions have locked. */
const lateIds = async (store: Store, call: StoreCall & ExpireCall, now: number): Promise<string[]> => {
  const found = await store.collections.jobs
    .find(
      { expiresAt: { $gt: new Date(0), $lte: new Date(now) }, ...skipLocked(store, call) },
      { ...inSession(call.session), projection: { _id: 1 }, sort: { expiresAt: 1 }, limit: call.limit },
    )
    .toArray();
  return found.map(({ _id }) => _id);
};

const expireAll = async (
  work: Work,
  ids: readonly string[],
  { error }: ExpireCall,
): Promise<(ExpiredJob | undefined)[]> => {
  await work.findMany(ids);
  const results: (ExpiredJob | undefined)[] = [];
  for (const id of ids) {
    const stored = await work.find(id);
    const isLate = stored !== undefined && (expiresAt(stored.row) ?? Infinity) <= work.now;
    if (!isLate) {
      results.push(undefined);
      continue;
    }
    const { row: job } = work.save(stored, expired(stored.row, error, work.now));
    results.push({ job, cascaded: await failDependants(work, job) });
  }
  return results;
};

/** In a transaction that does not wait for locks; locked jobs are skipped. */
export const expireWaitingJobs = async (
  store: Store,
  call: StoreCall & ExpireCall,
): Promise<ExpiredJob[]> => {
  const now = call.now ?? (await store.clock.ask());
  const ids = await lateIds(store, call, now);
  const results =
    call.session === undefined
      ? await divide(
          ids,
          (some) => store.attemptWork(now, (work) => expireAll(work, some, call)),
          () => undefined,
        )
      : await store.work({ ...call, now }, (work) => expireAll(work, ids, call));
  return results.filter((result) => result !== undefined);
};
