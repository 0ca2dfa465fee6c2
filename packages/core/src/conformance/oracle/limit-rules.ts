import type { LimitValues, RateLimit, LimitRule } from "../../store/contract/limits.ts";
import type { ModelJob, ModelStore } from "./store.ts";

// Rules and buckets, the naive way. A counter is a set of jobs, asked for anew each time.

/** A queue, a type in it, or a group of that type. */
export interface Place {
  readonly queue: string;
  readonly typeName: string | null;
  readonly group: string | null;
}

export const keyOf = ({ queue, typeName, group }: Place): string => [queue, typeName, group].join(" ");

const noRule = (queue: string, typeName: string | null): LimitRule => ({
  queue,
  typeName,
  paused: false,
  pausedUntil: null,
  concurrency: null,
  rate: null,
  perGroup: null,
  weights: {},
  groups: {},
  version: 0,
});

export const ruleOf = (store: ModelStore, queue: string, typeName: string | null): LimitRule =>
  store.rules.get(keyOf({ queue, typeName, group: null })) ?? noRule(queue, typeName);

/** A pause that is over is none. */
export const withoutOldPause = (rule: LimitRule, now: number): LimitRule =>
  rule.pausedUntil !== null && rule.pausedUntil <= now ? { ...rule, paused: false, pausedUntil: null } : rule;

export const isOrdered = ({ group, ordered }: ModelJob): boolean => group !== null && ordered !== null;

const groupLimits = (ofQueue: LimitRule, ofType: LimitRule, group: string): LimitValues =>
  ofType.groups[group] ?? ofType.perGroup ?? ofQueue.perGroup ?? { concurrency: null, rate: null };

/** The places whose limits a job has to keep to, the outermost first, each with its limits. */
export const placesOver = (
  store: ModelStore,
  job: ModelJob,
): (Place & { readonly limits: LimitValues })[] => {
  const { queue, typeName, group } = job;
  const [ofQueue, ofType] = [ruleOf(store, queue, null), ruleOf(store, queue, typeName)];
  const places = [
    { queue, typeName: null, group: null, limits: ofQueue },
    { queue, typeName, group: null, limits: ofType },
  ];
  if (group === null) return places;
  const ofGroup = groupLimits(ofQueue, ofType, group);
  const limits = isOrdered(job) ? { ...ofGroup, concurrency: 1 } : ofGroup;
  return [...places, { queue, typeName, group, limits }];
};

/** The jobs that are counted there. */
export const countedAt = ({ jobs }: ModelStore, place: Place): ModelJob[] =>
  [...jobs.values()].filter(
    (job) =>
      job.status === "running" &&
      job.queue === place.queue &&
      (place.typeName === null || job.typeName === place.typeName) &&
      (place.group === null || job.group === place.group),
  );

const microseconds = 1_000;

/** How many tokens a bucket holds: the burst, or what comes in 50 ms, which is at most a twentieth of the limit. */
const sizeOf = ({ limit, perMs, burst }: RateLimit): number => {
  if (burst !== null) return burst;
  const in50Ms = perMs < 1_000 ? limit / 20 : (limit * 50) / perMs;
  return in50Ms < 1 ? 1 : Math.floor(in50Ms);
};

/** How long a bucket takes for a token. Without a burst, what it holds and one for each such time make the limit. */
const tokenTime = (rate: RateLimit): number => {
  const perTime = rate.burst === null ? rate.limit - sizeOf(rate) + 1 : rate.limit;
  return Math.ceil((rate.perMs * microseconds) / perTime);
};

/** A bucket is known by the moment at which it will be full. */
const fullAt = (store: ModelStore, place: Place): number => store.buckets.get(keyOf(place)) ?? 0;

export const tokensAt = (store: ModelStore, place: Place, rate: RateLimit, now: number): number => {
  let missing = 0;
  const toFill = fullAt(store, place) - now * microseconds;
  while (missing * tokenTime(rate) < toFill) missing += 1;
  return Math.max(0, sizeOf(rate) - missing);
};

/** The first millisecond with a token. */
export const tokenFrom = (store: ModelStore, place: Place, rate: RateLimit): number =>
  Math.ceil((fullAt(store, place) - (sizeOf(rate) - 1) * tokenTime(rate)) / microseconds);

export const spend = (store: ModelStore, place: Place, rate: RateLimit, now: number): void => {
  const from = Math.max(fullAt(store, place), now * microseconds);
  store.buckets.set(keyOf(place), from + tokenTime(rate));
};

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const groupRate = (store: ModelStore, queue: string, typeName: string, group: string): RateLimit | null =>
  groupLimits(ruleOf(store, queue, null), ruleOf(store, queue, typeName), group).rate;

/** A rate begins full. An edited one owes what it owed, but never more than to be empty. */
const editBucket = (
  store: ModelStore,
  key: string,
  before: RateLimit | null,
  after: RateLimit | null,
  now: number,
): void => {
  if (isSame(before, after)) return;
  const empty = after === null ? 0 : now * microseconds + sizeOf(after) * tokenTime(after);
  if (before === null || after === null) store.buckets.delete(key);
  else store.buckets.set(key, Math.min(store.buckets.get(key) ?? 0, empty));
};

export const setRule = (
  store: ModelStore,
  rule: LimitRule,
  typeNames: readonly string[],
  { now, inTransaction }: { readonly now: number; readonly inTransaction: boolean },
): void => {
  const { queue, typeName } = rule;
  const key = keyOf({ queue, typeName, group: null });
  const rateBefore = ruleOf(store, queue, typeName).rate;
  const lines = typeNames.flatMap((name) => {
    const prefix = `${queue} ${name} `;
    return [...store.buckets.keys()]
      .filter((line) => line.startsWith(prefix) && line !== prefix)
      .map((line) => ({ line, name, group: line.slice(prefix.length) }));
  });
  const ratesBefore = lines.map(({ name, group }) => groupRate(store, queue, name, group));
  store.rules.set(key, rule);
  editBucket(store, key, rateBefore, rule.rate, now);
  for (const [index, { line, name, group }] of lines.entries())
    editBucket(store, line, ratesBefore[index]!, groupRate(store, queue, name, group), now);
  for (const job of store.jobs.values()) {
    if (job.queue !== queue || job.status !== "running") continue;
    const wasLimited = job.limited === true;
    noteLimited(store, job);
    // A store may leave it to a claim after the commit to count the jobs that run already.
    if (inTransaction && !wasLimited) job.limited = null;
  }
};

/** A running job says so when a limit counts it. Whether others say so is left open. */
export const noteLimited = (store: ModelStore, job: ModelJob): void => {
  const isCounted = placesOver(store, job).some(({ limits }) => limits.concurrency !== null);
  job.limited = isCounted ? true : null;
};
