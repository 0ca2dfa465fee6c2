import type {
  LimitValues,
  RateLimit,
  LimitRule,
  FlowRuleChange,
  ThrottleReason,
} from "../contract/limits.ts";

/*
 * Rates are token buckets in the form of GCRA: all that is stored is the moment `tat` (theoretical arrival time) at which
 * the bucket would be full again, in whole microseconds by the store's clock. A new bucket has 0.
 *
 *   interval = ceil(perMs * 1000 / (limit - burst + 1))
 *   tokens   = floor((now + burst * interval - max(tat, now)) / interval)
 *   spend n:   tat = max(tat, now) + n * interval
 *
 * In a window of `perMs` the bucket gives at most `burst` at once and then one for each interval, which is `limit` in all.
 * Stores that decide inside a statement repeat these three lines there.
 */

/** Microseconds between two tokens. */
export const tokenInterval = ({ limit, perMs, burst }: RateLimit): number =>
  Math.ceil((perMs * 1_000) / (limit - burst + 1));

/** Tokens left at this moment. */
export const tokensLeft = (rate: RateLimit, tat: number, nowMs: number): number => {
  const interval = tokenInterval(rate);
  const now = nowMs * 1_000;
  return Math.max(0, Math.floor((now + rate.burst * interval - Math.max(tat, now)) / interval));
};

/** The `tat` after so many tokens have been spent. */
export const spendTokens = (rate: RateLimit, tat: number, nowMs: number, count: number): number =>
  Math.max(tat, nowMs * 1_000) + count * tokenInterval(rate);

/** From when on, in milliseconds, there is a token again. */
export const nextTokenAt = (rate: RateLimit, tat: number, nowMs: number): number =>
  Math.max(nowMs, Math.ceil((tat - (rate.burst - 1) * tokenInterval(rate)) / 1_000));

/** The `tat` of a bucket whose rate has been edited: what was spent stays spent, but it owes nothing beyond being empty. */
export const keepSpent = (rate: RateLimit, tat: number, nowMs: number): number =>
  Math.min(tat, nowMs * 1_000 + rate.burst * tokenInterval(rate));

/** How much of some limits is in use: the jobs that are counted, and the bucket of the rate. */
export interface LimitsInUse {
  readonly running: number;
  readonly tat: number;
}

/** Which of these limits is reached, if one is. */
export const findReachedLimit = (
  { concurrency, rate }: LimitValues,
  { running, tat }: LimitsInUse,
  now: number,
): "concurrency" | "rate" | null => {
  if (concurrency !== null && running >= concurrency) return "concurrency";
  return rate !== null && tokensLeft(rate, tat, now) < 1 ? "rate" : null;
};

/** What a rule of a queue or type holds its jobs back by, if by anything. */
export const findHoldOfRule = (
  rule: LimitRule | undefined,
  use: LimitsInUse,
  now: number,
): ThrottleReason | null => {
  if (rule === undefined) return null;
  return rule.paused ? "paused" : findReachedLimit(rule, use, now);
};

const noLimits: LimitValues = { concurrency: null, rate: null };

/** The rules over a job: that of its queue and that of its type in this queue, where there are any. */
export interface RulesOver {
  readonly queue: LimitRule | undefined;
  readonly type: LimitRule | undefined;
}

/** The limits of one group, or of the line of jobs without a group, which has none. */
export const limitsOfLine = (
  { queue, type }: RulesOver,
  { group, ordered }: { readonly group: string | null; readonly ordered: unknown },
): LimitValues => {
  if (group === null) return noLimits;
  const limits = type?.perGroup ?? queue?.perGroup ?? noLimits;
  return ordered === null ? limits : { ...limits, concurrency: 1 };
};

export const weightOfGroup = ({ queue, type }: RulesOver, group: string | null): number => {
  if (group === null) return 1;
  for (const rule of [type, queue]) {
    if (rule !== undefined && Object.hasOwn(rule.weights, group)) return rule.weights[group] ?? 1;
  }
  return 1;
};

/** The rule of a queue or type for which nothing was ever set. */
export const emptyLimitRule = (queue: string, typeName: string | null): LimitRule => ({
  queue,
  typeName,
  paused: false,
  concurrency: null,
  rate: null,
  perGroup: null,
  weights: {},
  version: 0,
});

const isSameRate = (a: RateLimit | null, b: RateLimit | null): boolean =>
  a === b || (a !== null && b !== null && a.limit === b.limit && a.perMs === b.perMs && a.burst === b.burst);

const isSameLimits = (a: LimitValues | null, b: LimitValues | null): boolean =>
  (a?.concurrency ?? null) === (b?.concurrency ?? null) && isSameRate(a?.rate ?? null, b?.rate ?? null);

const isSameWeights = (a: LimitRule["weights"], b: LimitRule["weights"]): boolean => {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && a[name] === b[name])
  );
};

const isSameRule = (a: LimitRule, b: LimitRule): boolean =>
  a.paused === b.paused &&
  isSameLimits(a, b) &&
  isSameLimits(a.perGroup, b.perGroup) &&
  isSameWeights(a.weights, b.weights);

/** The rule after a change, with the next version. The rule itself when the change says nothing new. */
export const changedLimitRule = (rule: LimitRule, change: FlowRuleChange): LimitRule => {
  const named = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const { perGroup, ...rest }: LimitRule = { ...rule, ...(named as FlowRuleChange) };
  // Limits that limit nothing are none.
  const limitsGroups = perGroup !== null && (perGroup.concurrency !== null || perGroup.rate !== null);
  const next: LimitRule = { ...rest, perGroup: limitsGroups ? perGroup : null };
  return isSameRule(rule, next) ? rule : { ...next, version: rule.version + 1 };
};
