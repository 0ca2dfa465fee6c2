import type { ClaimCall, ClaimRequest } from "leasehold/adapter";
import type { Filter } from "mongodb";
import { inSession } from "./collections.ts";
import type { JobDocument } from "./job-document.ts";
import { notHeld } from "./not-held.ts";
import { canBeClaimed, claimOrder, nowExpression, scopeFilter } from "./runnable.ts";
import type { Store, StoreCall } from "./store.ts";

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

/** The ids of runnable jobs, the first in line unless there is a crowd. */
export const findCandidates = async (
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
      ...notHeld(store, call),
    };
    const projection = { priority: 1, dueAt: 1, position: 1 };
    return jobs.find<Place>(filter, { ...options, projection, sort: claimOrder, limit: lookedAt }).toArray();
  };
  const found: Place[] = [];
  for (const names of inGroups(typeNames)) found.push(...(await find(names)));
  const ids = found.sort(inClaimOrder).map(({ _id }) => _id);
  return someOf(ids.slice(0, lookedAt), limit);
};
