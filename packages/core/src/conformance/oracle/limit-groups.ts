import type { ClaimScope, MaxAttempts } from "../../store/contract/claims.ts";
import type { ThrottleReason } from "../../store/contract/limits.ts";
import { attemptsOf, endLease, hasRunOut } from "./leases.ts";
import {
  countedAt,
  isOrdered,
  keyOf,
  noteLimited,
  type Place,
  placesOver,
  ruleOf,
  spend,
  tokenFrom,
  tokensAt,
} from "./limit-rules.ts";
import { copyStore, type ModelJob, type ModelStore } from "./store.ts";

/** Where groups and rules are drawn, so that the other queues stay as they would be without. */
export const limitedQueue = "queue-flow";

/** All jobs of an ordered group are ordered. Few groups, so that jobs meet in them. */
export const groups = ["group-1", "ordered-1"] as const;

export const lineOf = ({ queue, typeName, group }: ModelJob): Place => ({ queue, typeName, group });

const hasBegun = (job: ModelJob): boolean => isOrdered(job) && job.leaseVersion > 0;

/** The pending jobs of one group queue, in order: due jobs, and in an ordered group also jobs that have begun. */
export const lineBefore = (store: ModelStore, { queue, typeName, group }: Place, now: number): ModelJob[] =>
  [...store.jobs.values()]
    .filter((job) => job.status === "pending" && job.queue === queue && job.typeName === typeName)
    .filter((job) => job.group === group && (job.scheduledAt <= now || hasBegun(job)))
    .sort((a, b) => {
      if (hasBegun(a) !== hasBegun(b)) return hasBegun(a) ? -1 : 1;
      const byPriority = hasBegun(a) ? 0 : b.priority - a.priority;
      return byPriority || a.scheduledAt - b.scheduledAt;
    });

export interface ModelThrottle {
  readonly place: Place;
  /** Everything that holds it there; the contract does not say which of them is named. */
  readonly reasons: readonly ThrottleReason[];
}

/** When the pause of a place ends; 0 where there is none. */
const pauseEnd = (store: ModelStore, place: Place): number => {
  if (place.group !== null) return store.pauses.get(keyOf(place)) ?? 0;
  const { paused, pausedUntil } = ruleOf(store, place.queue, place.typeName);
  return paused ? (pausedUntil ?? Infinity) : 0;
};

/** What holds back a pending job that is due, at the outermost place that does. */
export const holdOf = (store: ModelStore, job: ModelJob, now: number): ModelThrottle | null => {
  for (const { limits, ...place } of placesOver(store, job)) {
    const reasons: ThrottleReason[] = [];
    if (pauseEnd(store, place) > now) reasons.push("paused");
    if (limits.concurrency !== null && countedAt(store, place).length >= limits.concurrency)
      reasons.push(place.group !== null && isOrdered(job) ? "order" : "concurrency");
    if (limits.rate !== null && tokensAt(store, place, limits.rate, now) === 0) reasons.push("rate");
    if (place.group !== null && store.stops.has(keyOf(place))) reasons.push("stopped");
    if (place.group !== null && isOrdered(job) && lineBefore(store, place, now)[0] !== job)
      reasons.push("order");
    if (reasons.length > 0) return { place, reasons };
  }
  return null;
};

/** Whether a claim takes this job next in its line. */
export const isAdmissible = (store: ModelStore, job: ModelJob, now: number): boolean =>
  job.status === "pending" &&
  job.scheduledAt <= now &&
  lineBefore(store, lineOf(job), now)[0] === job &&
  holdOf(store, job, now) === null;

/** Counts it and spends its tokens. */
export const admit = (store: ModelStore, job: ModelJob, now: number): void => {
  for (const { limits, ...place } of placesOver(store, job))
    if (limits.rate !== null) spend(store, place, limits.rate, now);
  noteLimited(store, job);
};

/** The running jobs that a claim treats as reaped: of a type that it asks for, with attempts left. */
export const freedByClaim = (
  store: ModelStore,
  { queue, typeNames }: ClaimScope,
  maxAttempts: MaxAttempts | undefined,
  now: number,
): ModelJob[] =>
  [...store.jobs.values()].filter(
    (job) =>
      job.queue === queue &&
      (typeNames === null || typeNames.includes(job.typeName)) &&
      hasRunOut(job, now) &&
      job.attempt < attemptsOf(job, maxAttempts),
  );

export const putBack = (job: ModelJob): void => {
  const endedAt = job.leasedUntil ?? 0;
  endLease(job, null);
  job.expiredLeases += 1;
  job.lastFailedAt = endedAt;
  job.status = "pending";
  job.scheduledAt = endedAt;
};

/** The jobs that a claim with room would find at this moment. */
export const admissibleIn = (
  store: ModelStore,
  scope: ClaimScope,
  maxAttempts: MaxAttempts | undefined,
  now: number,
): ModelJob[] => {
  const copy = copyStore(store);
  for (const job of freedByClaim(copy, scope, maxAttempts, now)) putBack(job);
  return [...copy.jobs.values()].filter(
    (job) =>
      job.queue === scope.queue &&
      (scope.typeNames === null || scope.typeNames.includes(job.typeName)) &&
      isAdmissible(copy, job, now),
  );
};

/** In how long a claim finds something, by trying every moment at which anything changes. */
export const admissibleAfter = (
  store: ModelStore,
  scope: ClaimScope,
  maxAttempts: MaxAttempts | undefined,
  now: number,
): number | null => {
  const moments = new Set([now]);
  for (const job of store.jobs.values()) {
    if (job.queue !== scope.queue) continue;
    moments.add(job.scheduledAt);
    if (job.leasedUntil !== null) moments.add(job.leasedUntil);
    for (const { limits, ...place } of placesOver(store, job)) {
      if (limits.rate !== null) moments.add(tokenFrom(store, place, limits.rate));
      if (pauseEnd(store, place) < Infinity) moments.add(pauseEnd(store, place));
    }
  }
  for (const moment of [...moments].sort((a, b) => a - b)) {
    if (moment >= now && admissibleIn(store, scope, maxAttempts, moment).length > 0) return moment - now;
  }
  return null;
};

/** A job has failed by an outcome or its last lease. */
export const noteFailure = (store: ModelStore, job: ModelJob): void => {
  if (isOrdered(job) && job.ordered === "stop") store.stops.set(keyOf(lineOf(job)), job.id);
};

/** A failed job is alive again, or has been deleted. */
export const liftStop = (store: ModelStore, job: ModelJob): void => {
  const line = keyOf(lineOf(job));
  if (store.stops.get(line) === job.id) store.stops.delete(line);
};
