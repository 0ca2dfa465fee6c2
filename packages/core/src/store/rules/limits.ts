import { InvalidOptionError } from "../../base/errors.ts";
import type {
  LimitValues,
  RateLimit,
  LimitRule,
  LimitRuleChange,
  Throttle,
  LimitScope,
  ThrottleReason,
} from "../contract/limits.ts";
import { describePause, endOfPause, endOrNull, isPausedAt } from "./pauses.ts";

/*
 * Rates are token buckets in the form of GCRA (generic cell rate algorithm). A store keeps one number for a bucket:
 * `bucketFullAt`, the time at which the bucket is full again, in whole microseconds by the store's clock. A new bucket has 0.
 *
 *   tokens   = floor((now + size * interval - max(bucketFullAt, now)) / interval)
 *   spend n:   bucketFullAt = max(bucketFullAt, now) + n * interval
 *
 * With a burst the bucket has this size, and a token comes every `perMs / limit`. In a window of `perMs` it gives the burst at
 * once and then up to `limit - 1` more.
 *
 * Without a burst a window must not have more than `limit`. A bucket of one token would do, but then each claim could take one
 * job only. So the bucket holds as many as come in 50 ms, up to a twentieth of the limit, and tokens come slower by what it
 * holds: `size` at once and then one for each interval are `limit` in a window. That costs at most a twentieth of the rate.
 *
 * Stores that decide inside a statement repeat the two lines above there.
 */

const evenBurstMs = 50;

/** How many tokens a full bucket has. */
export const bucketSize = ({ limit, perMs, burst }: RateLimit): number =>
  burst ?? Math.max(1, Math.floor((limit * evenBurstMs) / Math.max(perMs, 20 * evenBurstMs)));

/** Microseconds between two tokens. */
export const tokenInterval = (rate: RateLimit): number => {
  const { limit, perMs, burst } = rate;
  return Math.ceil((perMs * 1_000) / (burst === null ? limit - bucketSize(rate) + 1 : limit));
};

/** Tokens left now. */
export const tokensLeft = (rate: RateLimit, bucketFullAt: number, nowMs: number): number => {
  const interval = tokenInterval(rate);
  const now = nowMs * 1_000;
  return Math.max(
    0,
    Math.floor((now + bucketSize(rate) * interval - Math.max(bucketFullAt, now)) / interval),
  );
};

/** The bucket after `count` tokens have been spent. */
export const spendTokens = (rate: RateLimit, bucketFullAt: number, nowMs: number, count: number): number =>
  Math.max(bucketFullAt, nowMs * 1_000) + count * tokenInterval(rate);

/** When the bucket has a token again, in milliseconds. */
export const nextTokenAt = (rate: RateLimit, bucketFullAt: number, nowMs: number): number =>
  Math.max(nowMs, Math.ceil((bucketFullAt - (bucketSize(rate) - 1) * tokenInterval(rate)) / 1_000));

/** The bucket after its rate was edited. Spent tokens stay spent, but a bucket is never emptier than empty. */
export const keepSpent = (rate: RateLimit, bucketFullAt: number, nowMs: number): number =>
  Math.min(bucketFullAt, nowMs * 1_000 + bucketSize(rate) * tokenInterval(rate));

/** How much of a concurrency limit and of a rate is in use. */
export interface LimitsInUse {
  readonly running: number;
  readonly bucketFullAt: number;
}

/** Bits that say where a running job is counted. */
export const countedIn = { group: 1, type: 2, queue: 4 } as const;

/** What a store keeps for a queue, or for a type in it. */
export interface ScopeState extends LimitsInUse {
  /** Of the group of a type that was served last. */
  readonly servedVirtualTime: number;
  /** Of the jobs of a type that have no group. */
  readonly ungroupedVirtualTime: number;
  /** Whether the last claim has left jobs without a group that were due. */
  readonly isUngroupedClaimable: boolean;
}

/** The state of a limit that nothing has used yet. */
export const newScopeState: ScopeState = {
  running: 0,
  bucketFullAt: 0,
  servedVirtualTime: 0,
  ungroupedVirtualTime: 0,
  isUngroupedClaimable: false,
};

/** What a store keeps for a group. */
export interface GroupState extends LimitsInUse {
  /** Identifies the group in the store. The lower key goes first among equal virtual times. */
  readonly key: number;
  readonly group: string;
  readonly isOrdered: boolean;
  readonly virtualTime: number;
  /** When a job falls due or a token arrives, as far as the store has noted it. */
  readonly claimableAt: number | null;
  /** The job whose failure has stopped the group. */
  readonly stoppedBy: string | null;
  /** The end of its pause, which may be over, or `pauseWithoutEnd`. Null if it was never paused. */
  readonly pausedUntil: number | null;
}

/** Which of these limits is reached, if one is. */
export const findReachedLimit = (
  { concurrency, rate }: LimitValues,
  { running, bucketFullAt }: LimitsInUse,
  now: number,
): "concurrency" | "rate" | null => {
  if (concurrency !== null && running >= concurrency) return "concurrency";
  return rate !== null && tokensLeft(rate, bucketFullAt, now) < 1 ? "rate" : null;
};

/** Why the rule of a queue or type throttles its jobs; null if it does not. */
export const findThrottleOfRule = (
  rule: LimitRule | undefined,
  use: LimitsInUse,
  now: number,
): ThrottleReason | null => {
  if (rule === undefined) return null;
  return isPausedAt(rule, now) ? "paused" : findReachedLimit(rule, use, now);
};

const noLimits: LimitValues = { concurrency: null, rate: null };

/** The rules over a job: that of its queue and that of its type in this queue, where there are any. */
export interface RulesOver {
  readonly queue: LimitRule | undefined;
  readonly type: LimitRule | undefined;
}

const namedLimits = (groups: LimitRule["groups"] | undefined, group: string): LimitValues | null =>
  groups !== undefined && Object.hasOwn(groups, group) ? groups[group]! : null;

/** The limits of one group. Jobs without a group have none. */
export const limitsOfGroup = (
  { queue, type }: RulesOver,
  { group, ordered }: { readonly group: string | null; readonly ordered: unknown },
): LimitValues => {
  if (group === null) return noLimits;
  const limits = namedLimits(type?.groups, group) ?? type?.perGroup ?? queue?.perGroup ?? noLimits;
  return ordered === null ? limits : { ...limits, concurrency: 1 };
};

/** How many turns a group gets, by the rules of its type or queue. */
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
  pausedUntil: null,
  concurrency: null,
  rate: null,
  perGroup: null,
  weights: {},
  groups: {},
  version: 0,
});

const isSameRate = (a: RateLimit | null, b: RateLimit | null): boolean =>
  a === b || (a !== null && b !== null && a.limit === b.limit && a.perMs === b.perMs && a.burst === b.burst);

const isSameLimits = (a: LimitValues | null, b: LimitValues | null): boolean =>
  (a?.concurrency ?? null) === (b?.concurrency ?? null) && isSameRate(a?.rate ?? null, b?.rate ?? null);

const isSameByName = <T>(
  a: Readonly<Record<string, T>>,
  b: Readonly<Record<string, T>>,
  isSame: (a: T, b: T) => boolean,
): boolean => {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name]!, b[name]!))
  );
};

const isSameRule = (a: LimitRule, b: LimitRule): boolean =>
  a.paused === b.paused &&
  a.pausedUntil === b.pausedUntil &&
  isSameLimits(a, b) &&
  isSameLimits(a.perGroup, b.perGroup) &&
  isSameByName(a.weights, b.weights, Object.is) &&
  isSameByName(a.groups, b.groups, isSameLimits);

/** The most groups that a rule can name. */
export const mostNamedGroups = 1_000;

const changedLimits = (before: LimitValues, { concurrency, rate }: Partial<LimitValues>): LimitValues => ({
  concurrency: concurrency === undefined ? before.concurrency : concurrency,
  rate: rate === undefined || isSameRate(rate, before.rate) ? before.rate : rate,
});

/** Limits that limit nothing are none. */
const changedGroupLimits = (
  before: LimitValues | null,
  change: LimitRuleChange["perGroup"],
): LimitValues | null => {
  if (change === undefined) return before;
  const after = changedLimits(before ?? noLimits, change ?? noLimits);
  if (isSameLimits(before, after)) return before;
  return after.concurrency === null && after.rate === null ? null : after;
};

/** Merges by name; null removes one. */
const changedByName = <T>(
  part: string,
  before: Readonly<Record<string, T>>,
  change: Readonly<Record<string, T | null>> | null | undefined,
): Readonly<Record<string, T>> => {
  if (change === undefined) return before;
  if (change === null) return {};
  const after = new Map<string, T | null>([...Object.entries(before), ...Object.entries(change)]);
  const kept = [...after].filter((entry): entry is [string, T] => entry[1] !== null);
  if (kept.length > mostNamedGroups)
    throw new InvalidOptionError(
      part,
      `must name at most ${mostNamedGroups} groups; with those of before they are ${kept.length}`,
    );
  return Object.fromEntries(kept);
};

const changedNamedGroups = (
  before: LimitRule["groups"],
  change: LimitRuleChange["groups"],
): LimitRule["groups"] => {
  const after = Object.entries(change ?? {}).map(([group, limits]): [string, LimitValues | null] => [
    group,
    changedGroupLimits(namedLimits(before, group), limits),
  ]);
  return changedByName("groups", before, change && Object.fromEntries(after));
};

/** The rule after a change, with the next version. The rule itself when the change says nothing new. */
export const changedLimitRule = (rule: LimitRule, change: LimitRuleChange, now: number): LimitRule => {
  const { paused = rule.paused } = change;
  const pausedUntil =
    change.paused === undefined ? rule.pausedUntil : endOrNull(endOfPause(change.pauseUntil, now));
  const next: LimitRule = {
    ...rule,
    ...changedLimits(rule, change),
    paused,
    pausedUntil: paused ? pausedUntil : null,
    perGroup: changedGroupLimits(rule.perGroup, change.perGroup),
    weights: changedByName("weights", rule.weights, change.weights),
    groups: changedNamedGroups(rule.groups, change.groups),
  };
  return isSameRule(rule, next) ? rule : { ...next, version: rule.version + 1 };
};

const never = Number.POSITIVE_INFINITY;

/**
 * When limits admit one more job, if nothing happens but that leases end; infinity if the jobs that run have no such end.
 * `leaseEnds` are the ends of the leases that hold slots, in order.
 */
export const limitsClaimableAt = (
  { concurrency, rate }: LimitValues,
  { running, bucketFullAt }: LimitsInUse,
  leaseEnds: () => readonly number[],
  now: number,
): number => {
  const toEnd = concurrency === null ? 0 : running - concurrency + 1;
  const roomAt = toEnd <= 0 ? now : (leaseEnds()[toEnd - 1] ?? never);
  const hasToken = rate === null || tokensLeft(rate, bucketFullAt, now) > 0;
  return Math.max(roomAt, hasToken ? now : nextTokenAt(rate, bucketFullAt, now));
};

/** When a rule next allows a claim. */
export const ruleClaimableAt = (
  rule: LimitRule | undefined,
  use: LimitsInUse,
  leaseEnds: () => readonly number[],
  now: number,
): number => {
  if (rule === undefined) return now;
  const openAt = isPausedAt(rule, now) ? (rule.pausedUntil ?? never) : now;
  return openAt === never ? never : Math.max(openAt, limitsClaimableAt(rule, use, leaseEnds, now));
};

const mostIds = 5;

/** A job that runs in the scope of a limit. */
interface RunningJob {
  readonly id: string;
}

/** A queue, a type or a group, as far as its limits throttle a job. */
export interface ThrottlingScope extends LimitsInUse {
  /** The jobs that hold its slots. Expired leases do not count: the next claim frees their slots. */
  holders(): readonly RunningJob[];
}

export interface ThrottlingGroup extends ThrottlingScope {
  readonly group: string;
  readonly isOrdered: boolean;
  readonly stoppedBy: string | null;
  readonly pausedUntil: number | null;
  /** Of an ordered group: the jobs that run before this one, and when the first of them is due if it is pending. */
  ahead(): { readonly jobs: readonly RunningJob[]; readonly dueAt: number | null };
}

/** A job that a limit or a pause delays. */
export interface ThrottledJob {
  readonly queue: string;
  readonly typeName: string;
  readonly rules: RulesOver;
  readonly ofQueue: ThrottlingScope;
  readonly ofType: ThrottlingScope;
  /** Null for a job without a group. */
  readonly ofGroup: ThrottlingGroup | null;
}

/** Why a due job is not claimed: by its queue, then its type, then its group. */
export const explainThrottle = (
  { queue, typeName, rules, ofQueue, ofType, ofGroup }: ThrottledJob,
  now: number,
): Throttle | null => {
  type ScopeName = Pick<Throttle, "queue" | "typeName" | "group">;
  const throttle = (by: ThrottleReason, name: ScopeName, details: Partial<Throttle> = {}): Throttle => ({
    by,
    ...name,
    limit: null,
    inUse: null,
    claimableAt: null,
    jobIds: [],
    ...details,
  });
  const idsOf = (jobs: readonly RunningJob[]): string[] => jobs.slice(0, mostIds).map(({ id }) => id);

  const byLimits = (limits: LimitValues, scope: ThrottlingScope, name: ScopeName): Throttle | null => {
    const { concurrency: limit, rate } = limits;
    if (limit !== null && scope.running >= limit) {
      const holders = scope.holders();
      if (holders.length >= limit)
        return throttle("concurrency", name, { limit, inUse: holders.length, jobIds: idsOf(holders) });
    }
    if (rate === null || tokensLeft(rate, scope.bucketFullAt, now) > 0) return null;
    const claimableAt = nextTokenAt(rate, scope.bucketFullAt, now);
    return throttle("rate", name, { limit: rate.limit, claimableAt });
  };

  const byRule = (rule: LimitRule | undefined, scope: ThrottlingScope, name: ScopeName): Throttle | null => {
    if (rule === undefined) return null;
    if (!isPausedAt(rule, now)) return byLimits(rule, scope, name);
    return throttle("paused", name, { claimableAt: rule.pausedUntil });
  };

  const byOrder = ({ ahead }: ThrottlingGroup, name: ScopeName): Throttle | null => {
    const { jobs, dueAt } = ahead();
    if (jobs.length === 0) return null;
    return throttle("order", name, {
      claimableAt: dueAt !== null && dueAt > now ? dueAt : null,
      jobIds: idsOf(jobs),
    });
  };

  const outer =
    byRule(rules.queue, ofQueue, { queue, typeName: null, group: null }) ??
    byRule(rules.type, ofType, { queue, typeName, group: null });
  if (outer !== null || ofGroup === null) return outer;
  const { group, isOrdered, stoppedBy } = ofGroup;
  const name = { queue, typeName, group };
  const { paused, pausedUntil } = describePause(ofGroup.pausedUntil, now);
  if (paused) return throttle("paused", name, { claimableAt: pausedUntil });
  if (stoppedBy !== null) return throttle("stopped", name, { jobIds: [stoppedBy] });
  const limits = limitsOfGroup(rules, { group, ordered: isOrdered ? true : null });
  return (isOrdered ? byOrder(ofGroup, name) : null) ?? byLimits(limits, ofGroup, name);
};

/** How many of the due jobs of a group queue a claim could take now. `head` is the first of them. */
export const countClaimable = (head: ThrottledJob, due: number, now: number): number => {
  if (due === 0 || explainThrottle(head, now) !== null) return 0;
  return head.ofGroup?.isOrdered === true ? 1 : due;
};

const compareNames = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null || (b !== null && a < b) ? -1 : 1;

/** The order of `listRules`. */
export const compareScopes = (a: LimitScope, b: LimitScope): number =>
  compareNames(a.queue, b.queue) || compareNames(a.typeName, b.typeName);
