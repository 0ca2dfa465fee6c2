import {
  assertLeaseDuration,
  type ClaimCall,
  type ClaimRequest,
  remainingLimits,
  type StateJob,
} from "leasehold/adapter";
import type { Document } from "mongodb";
import { findCandidates } from "../candidates.ts";
import { inSession } from "../collections.ts";
import { divide } from "../divide.ts";
import { fromDocument } from "../job-document.ts";
import { canBeClaimed, nowExpression } from "../runnable.ts";
import type { Store, StoreCall } from "../store.ts";
import { isMaxTimeExpired } from "../transient-errors.ts";

const patienceMs = 100;
/** How often in a row a claim may look for jobs and find that others were faster. */
const mostFruitlessRounds = 4;

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

const heldBy = ({ leaseToken }: ClaimCall): Document => ({
  leaseToken: { $eq: leaseToken },
  status: "running",
});

/**
 * Takes those of the jobs that are still runnable: the server looks at each again as it writes it. Returns how many were set
 * aside, because a transaction holds them.
 */
const take = async (store: Store, call: StoreCall & ClaimCall, ids: readonly string[]): Promise<number> => {
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
    store.sessions.noteLocked(call.session, ids);
    await jobs.updateMany(filterFor(ids), update, { session: call.session });
    return 0;
  }
  try {
    await jobs.updateMany(filterFor(ids), update, { maxTimeMS: patienceMs });
    return 0;
  } catch (error) {
    if (!isMaxTimeExpired(error)) throw error;
    // The server is slow, or a transaction holds one of them. Transactions of our own do not wait for it.
    const taken = new Set((await readHeld(store, call, heldBy(call))).map(({ id }) => id));
    const held = await divide(
      ids.filter((id) => !taken.has(id)),
      async (some) => {
        await store.attempt((session) => jobs.updateMany(filterFor(some), update, { session }));
        return [];
      },
      (id) => id,
    );
    for (const id of held) store.setAside.add(id);
    return held.length;
  }
};

const claimRequest = async (
  store: Store,
  call: StoreCall & ClaimCall,
  request: ClaimRequest,
  limit: number,
): Promise<StateJob[]> => {
  const claimed: StateJob[] = [];
  for (let fruitless = 0; claimed.length < limit && fruitless < mostFruitlessRounds;) {
    const ids = await findCandidates(store, call, request, limit - claimed.length);
    if (ids.length === 0) break;
    const setAside = await take(store, call, ids);
    const held = await readHeld(store, call, { _id: { $in: ids }, ...heldBy(call) });
    const byId = new Map(held.map((job) => [job.id, job]));
    claimed.push(...ids.flatMap((id) => byId.get(id) ?? []));
    store.crowd.note(request.queue, ids.length - setAside, held.length);
    fruitless = held.length === 0 ? fruitless + 1 : 0;
  }
  return claimed;
};

export const claimJobs = async (store: Store, call: StoreCall & ClaimCall): Promise<StateJob[]> => {
  assertLeaseDuration(call.leaseMs);
  const time = call.now ?? (call.isRepeat === true ? await store.clock.estimate() : 0);
  const jobs =
    call.isRepeat === true
      ? await readHeld(store, call, { ...heldBy(call), leasedUntil: { $gt: new Date(time) } })
      : [];
  const limits = remainingLimits(call.requests, jobs);
  for (const [index, request] of call.requests.entries()) {
    const limit = Math.min(limits[index]!, call.limit - jobs.length);
    if (limit > 0) jobs.push(...(await claimRequest(store, call, request, limit)));
  }
  return jobs;
};
