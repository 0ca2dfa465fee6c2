import {
  assertLeaseDuration,
  type ClaimCall,
  type ClaimRequest,
  remainingLimits,
  type StateJob,
} from "leasehold/adapter";
import type { Document, Filter } from "mongodb";
import { inSession } from "../database/collections.ts";
import { divide } from "../database/contention.ts";
import type { Store, StoreCall } from "../database/database.ts";
import { isMaxTimeExpired } from "../database/errors.ts";
import { fromDocument, type JobDocument } from "../database/job-document.ts";
import { canBeClaimed, claimOrder, nowExpression, scopeFilter } from "./runnable.ts";

/** Leaves out the jobs that a write is known to have to wait for, or to fail at. */
export const skipLocked = ({ sessions, setAside }: Store, { session }: StoreCall): Document => {
  // A transaction meets its own locks without waiting.
  if (session !== undefined) return {};
  const ids = [...sessions.lockedIds(), ...setAside.ids()];
  return ids.length === 0 ? {} : { _id: { $nin: ids } };
};

/** The server merges one ordered scan per type, up to 200 of them; beyond that it would sort all that is due. */
const typesAtATime = 100;

const mostLookedAt = 2_000;
/** How far the estimate of the server's time may be off. The index needs a fixed bound; the server's own clock decides. */
const slackMs = 2_000;

type Place = Pick<JobDocument, "_id" | "priority" | "dueAt" | "position">;

const inClaimOrder = (a: Place, b: Place): number =>
  b.priority - a.priority || (a.dueAt?.getTime() ?? 0) - (b.dueAt?.getTime() ?? 0) || a.position - b.position;

const inGroups = (names: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(names.length / typesAtATime) }, (_, index) =>
    names.slice(index * typesAtATime, (index + 1) * typesAtATime),
  );

/** Some that follow on each other, anywhere among those found. */
const someOf = (ids: readonly string[], limit: number): readonly string[] => {
  const from = Math.floor(Math.random() * Math.max(0, ids.length - limit + 1));
  return ids.slice(from, from + limit);
};

/** The ids of runnable jobs, the first in claim order unless there is contention. */
const findCandidates = async (
  store: Store,
  call: StoreCall & ClaimCall,
  request: ClaimRequest,
  limit: number,
): Promise<readonly string[]> => {
  const { jobs } = store.collections;
  const options = inSession(call.session);
  const time = call.now ?? (await store.clock.estimate()) + slackMs;
  const now = nowExpression(call.now);
  const lookedAt = Math.max(limit, Math.min(limit * store.crowd.size(request.queue), mostLookedAt));
  // With the types named, the index gives the order; over an open field it could not.
  const typeNames =
    request.typeNames ?? (await jobs.distinct("typeName", { queue: request.queue, live: true }, options));
  const find = (names: readonly string[]): Promise<Place[]> => {
    const filter: Filter<JobDocument> = {
      ...scopeFilter({ queue: request.queue, typeNames: names }),
      dueAt: { $lte: new Date(time) },
      $expr: { $and: [{ $lte: ["$dueAt", now] }, canBeClaimed(call.maxAttempts)] },
      ...skipLocked(store, call),
    };
    const projection = { priority: 1, dueAt: 1, position: 1 };
    return jobs.find<Place>(filter, { ...options, projection, sort: claimOrder, limit: lookedAt }).toArray();
  };
  const found: Place[] = [];
  for (const names of inGroups(typeNames)) found.push(...(await find(names)));
  const ids = found.sort(inClaimOrder).map(({ _id }) => _id);
  return someOf(ids.slice(0, lookedAt), limit);
};

const patienceMs = 100;
/** How often in a row a claim may look for jobs and find that others were faster. */
const mostFruitlessRounds = 4;

const lease = ({ leaseToken, workerId, leaseMs, deployment = null }: ClaimCall, now: unknown): Document[] => {
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
        deployment: { $literal: deployment },
        leasedUntil: until,
        dueAt: until,
        expiresAt: null,
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

const throttledBy = ({ leaseToken }: ClaimCall): Document => ({
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
    const taken = new Set((await readHeld(store, call, throttledBy(call))).map(({ id }) => id));
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
    const held = await readHeld(store, call, { _id: { $in: ids }, ...throttledBy(call) });
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
      ? await readHeld(store, call, { ...throttledBy(call), leasedUntil: { $gt: new Date(time) } })
      : [];
  const limits = remainingLimits(call.requests, jobs);
  for (const [index, request] of call.requests.entries()) {
    const limit = Math.min(limits[index]!, call.limit - jobs.length);
    if (limit > 0) jobs.push(...(await claimRequest(store, call, request, limit)));
  }
  return jobs;
};
