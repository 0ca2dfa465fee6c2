import {
  assertLeaseDuration,
  findRefusal,
  type LeaseRenewal,
  type LockHeldJobsCall,
  type LockResult,
  type ReapCall,
  reaped,
  type ReapedJob,
  refuse,
  type RenewalResult,
  renewed,
  type RenewLeasesCall,
} from "leasehold/adapter";
import type { Document } from "mongodb";
import { divide } from "../database/contention.ts";
import type { Store, StoreCall } from "../database/database.ts";
import type { Work } from "../database/transactions.ts";
import { skipLocked } from "./claim.ts";
import { failDependants } from "./dependants.ts";
import { type FencedWrite, writeFenced } from "./fenced-writes.ts";
import { nowExpression } from "./runnable.ts";

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
  const filter = { status: "running", dueAt: { $lte: new Date(now) }, ...skipLocked(store, call) } as const;
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

/** In a transaction that does not wait for locks; locked jobs are skipped. */
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

const renew = async (work: Work, lease: LeaseRenewal): Promise<RenewalResult> => {
  const stored = await work.find(lease.jobId);
  if (stored === undefined) return refuse("not_found", undefined);
  const refusal = findRefusal(stored.row, lease.leaseToken, work.now);
  if (refusal !== undefined) return refusal;
  work.save(stored, renewed(stored.row, lease, work.now));
  return { kind: "renewed", leasedUntil: work.now + lease.leaseMs };
};

const renewInTransaction = async (work: Work, leases: readonly LeaseRenewal[]): Promise<RenewalResult[]> => {
  await work.findMany(leases.map(({ jobId }) => jobId));
  const results: RenewalResult[] = [];
  for (const lease of leases) results.push(await renew(work, lease));
  return results;
};

const patienceMs = 100;

const renewal = (lease: LeaseRenewal, now: unknown): FencedWrite => {
  const until = { $add: [now, lease.leaseMs] };
  const progress: Document = lease.progress === undefined ? {} : { progress: { $literal: lease.progress } };
  const begun: Document =
    lease.lastAttempt === undefined
      ? {}
      : {
          attempt: { $literal: lease.lastAttempt },
          expiredLeases: { $subtract: [0, { $abs: "$expiredLeases" }] },
        };
  return { lease, changes: { leasedUntil: until, dueAt: until, ...progress, ...begun } };
};

const busy: RenewalResult = { kind: "busy" };

/** In transactions, which do not wait: a conflict means that the job is locked, and a slow reply does not. */
const renewInTransactions = async (
  store: Store,
  call: StoreCall,
  leases: readonly LeaseRenewal[],
): Promise<RenewalResult[]> => {
  if (leases.length === 0) return [];
  const now = call.now ?? (await store.clock.ask());
  return divide(
    leases,
    (some) => store.attemptWork(now, (work) => renewInTransaction(work, some)),
    () => busy,
  );
};

/** In one command; each lease is checked by itself. */
const renewAtOnce = async (
  store: Store,
  call: StoreCall,
  leases: readonly LeaseRenewal[],
): Promise<RenewalResult[]> => {
  const now = nowExpression(call.now);
  const writes = leases.map((lease) => renewal(lease, now));
  const result = await writeFenced(store, writes, { now, maxTimeMS: patienceMs, markField: "renewal" });
  const seen = await result.look();
  const left: LeaseRenewal[] = [];
  const answers = leases.map((lease): RenewalResult | undefined => {
    const job = seen.get(lease.jobId);
    if (job === undefined) return refuse("not_found", undefined);
    const leasedUntil = job.leasedUntil?.getTime() ?? null;
    const refusal = findRefusal({ ...job, leasedUntil }, lease.leaseToken, Number.NEGATIVE_INFINITY);
    if (refusal !== undefined) return refusal;
    if (result.isComplete || job.isApplied) return { kind: "renewed", leasedUntil: leasedUntil! };
    // It has expired, or was not reached in time, or another renewal has put its own mark on it since.
    left.push(lease);
    return undefined;
  });
  const later = await renewInTransactions(store, call, left);
  return answers.map((answer) => answer ?? later.shift()!);
};

/** Never waits long: neither for transactions of this process, which are known, nor for those of others. */
export const renewLeases = async (
  store: Store,
  call: StoreCall & RenewLeasesCall,
): Promise<RenewalResult[]> => {
  for (const { leaseMs } of call.leases) assertLeaseDuration(leaseMs);
  if (call.session !== undefined) return store.work(call, (work) => renewInTransaction(work, call.leases));
  const locked = store.sessions.lockedIds();
  const free = call.leases.filter(({ jobId }) => !locked.has(jobId));
  const results = free.length === 0 ? [] : await renewAtOnce(store, call, free);
  return call.leases.map(({ jobId }) => (locked.has(jobId) ? busy : results.shift()!));
};
