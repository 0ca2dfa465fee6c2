import {
  assertLeaseDuration,
  type ClaimCall,
  type ClaimRequest,
  remainingLimits,
  type StateJob,
} from "leasehold/adapter";
import type { Document } from "mongodb";
import { inSession } from "../collections.ts";
import { fromDocument } from "../job-document.ts";
import { canBeClaimed, claimOrder, nowExpression, scopeFilter } from "../runnable.ts";
import type { Store, StoreCall } from "../store.ts";
import { isConflict, isMaxTimeExpired } from "../transient-errors.ts";

const patienceMs = 100;

const lease = ({ leaseToken, workerId, leaseMs }: ClaimCall, now: unknown): Document[] => {
  const wasRunning = { $eq: ["$status", "running"] };
  const until = { $add: [now, { $ifNull: ["$leaseMs", leaseMs] }] };
  return [
    {
      $set: {
        status: "running",
        attempt: { $add: ["$attempt", 1] },
        leaseToken: { $literal: leaseToken },
        leaseVersion: { $add: ["$leaseVersion", 1] },
        leasedBy: { $literal: workerId },
        leasedUntil: until,
        dueAt: until,
        expiredLeases: { $cond: [wasRunning, { $add: ["$expiredLeases", 1] }, "$expiredLeases"] },
        lastFailedAt: { $cond: [wasRunning, "$leasedUntil", "$lastFailedAt"] },
        scheduledAt: { $cond: [wasRunning, "$leasedUntil", "$scheduledAt"] },
        lastAttemptAt: now,
      },
    },
  ];
};

const readHeld = async ({ collections }: Store, call: StoreCall, filter: Document): Promise<StateJob[]> => {
  const found = await collections.jobs
    .find(filter, { ...inSession(call.session), sort: { priority: -1, position: 1 } })
    .toArray();
  return found.map((document) => fromDocument(document).row);
};

/** The ids of the first runnable jobs in line. */
const findCandidates = async (
  store: Store,
  call: StoreCall & ClaimCall,
  request: ClaimRequest,
  limit: number,
): Promise<string[]> => {
  const { jobs } = store.collections;
  const options = inSession(call.session);
  const time = call.now ?? (await store.clock.estimate());
  // With the types named, the index gives the order; over an open field it could not.
  const typeNames =
    request.typeNames ?? (await jobs.distinct("typeName", { queue: request.queue, live: true }, options));
  if (typeNames.length === 0) return [];
  const filter = {
    ...scopeFilter({ queue: request.queue, typeNames }),
    dueAt: { $lte: new Date(time) },
    $expr: canBeClaimed(call.maxAttempts),
  };
  const found = await jobs
    .find(filter, { ...options, projection: { _id: 1 }, sort: claimOrder, limit })
    .toArray();
  return found.map(({ _id }) => _id).filter((id) => !store.setAside.has(id));
};

/** Takes those of the jobs that are still runnable: the server looks at each again as it writes it. */
const take = async (store: Store, call: StoreCall & ClaimCall, ids: readonly string[]): Promise<void> => {
  const { jobs } = store.collections;
  const now = nowExpression(call.now);
  const condition = { $and: [{ $lte: ["$dueAt", now] }, canBeClaimed(call.maxAttempts)] };
  const filterFor = (wanted: readonly string[]) => ({
    _id: { $in: [...wanted] },
    live: true,
    $expr: condition,
  });
  const update = lease(call, now);
  if (call.session !== undefined) {
    await jobs.updateMany(filterFor(ids), update, { session: call.session });
    return;
  }
  try {
    await jobs.updateMany(filterFor(ids), update, { maxTimeMS: patienceMs });
  } catch (error) {
    if (!isMaxTimeExpired(error)) throw error;
    // One of them is held by an open transaction. Alone in a transaction of its own, a write says so at once.
    const taken = await readHeld(store, call, { leaseToken: call.leaseToken, status: "running" });
    const left = ids.filter((id) => !taken.some((job) => job.id === id));
    for (const id of left) {
      try {
        await store.attempt((session) => jobs.updateOne(filterFor([id]), update, { session }));
      } catch (conflict) {
        if (!isConflict(conflict)) throw conflict;
        store.setAside.add(id);
      }
    }
  }
};

const claimRequest = async (
  store: Store,
  call: StoreCall & ClaimCall,
  request: ClaimRequest,
  limit: number,
): Promise<StateJob[]> => {
  const claimed: StateJob[] = [];
  while (claimed.length < limit) {
    const ids = await findCandidates(store, call, request, limit - claimed.length);
    if (ids.length === 0) break;
    await take(store, call, ids);
    const held = await readHeld(store, call, {
      _id: { $in: ids },
      leaseToken: call.leaseToken,
      status: "running",
    });
    const byId = new Map(held.map((job) => [job.id, job]));
    claimed.push(...ids.flatMap((id) => byId.get(id) ?? []));
  }
  return claimed;
};

export const claimJobs = async (store: Store, call: StoreCall & ClaimCall): Promise<StateJob[]> => {
  assertLeaseDuration(call.leaseMs);
  const time = call.now ?? (call.isRepeat === true ? await store.clock.estimate() : 0);
  const jobs =
    call.isRepeat === true
      ? await readHeld(store, call, {
          leaseToken: { $eq: call.leaseToken },
          status: "running",
          leasedUntil: { $gt: new Date(time) },
        })
      : [];
  const limits = remainingLimits(call.requests, jobs);
  for (const [index, request] of call.requests.entries()) {
    const limit = Math.min(limits[index]!, call.limit - jobs.length);
    if (limit > 0) jobs.push(...(await claimRequest(store, call, request, limit)));
  }
  return jobs;
};
