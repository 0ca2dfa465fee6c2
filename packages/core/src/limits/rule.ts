import { InvalidOptionError } from "../base/errors.ts";
import {
  largestInt32,
  longestDurationMs,
  requireBoolean,
  requireInteger,
  requireName,
  requireNestedOptions,
  requireNumber,
  requirePlainObject,
  type UncheckedOptions,
} from "../base/options.ts";
import type { LimitValues, RateLimit, LimitRuleChange } from "../store/contract/limits.ts";

/** A rate as it is given: without `burst`, as many as would come in 50 ms may come at once. */
export interface RateLimitOptions extends Omit<RateLimit, "burst"> {
  readonly burst?: number | undefined;
}

/** The limits of each group. What is not named has no limit. */
export interface GroupLimitOptions {
  readonly concurrency?: number | null | undefined;
  readonly rate?: RateLimitOptions | null | undefined;
}

/** The parts of a rule. What is not named stays as it is; null removes it. */
export interface LimitRuleOptions {
  /** Whether workers stop claiming jobs. Running jobs finish. */
  readonly paused?: boolean | undefined;
  /** How many jobs may run at once, over all workers. */
  readonly concurrency?: number | null | undefined;
  /** Never more than `limit` jobs are started in any time of `perMs`, over all workers. */
  readonly rate?: RateLimitOptions | null | undefined;
  /** Limits for each group. For a queue: for each group of each of its types. */
  readonly perGroup?: GroupLimitOptions | null | undefined;
  /** How many turns a group gets for each turn of another, from 0.001 to 1,000. Groups that are not named have 1. */
  readonly weights?: Readonly<Record<string, number>> | null | undefined;
}

const defaultBurstMs = 50;

const mostWeights = 1_000;
/** A token takes a whole number of microseconds to come. */
const mostPerMs = 1_000;

const orNull = <T>(value: unknown, read: (value: unknown) => T): T | null =>
  value === null ? null : read(value);

const parseConcurrency = (value: unknown, option: string): number => {
  if (value === 0)
    throw new InvalidOptionError(option, "must be at least 1; use `pause` to start nothing", value);
  return requireInteger(value, option, { min: 1, max: largestInt32 });
};

const parseRate = (value: unknown, option: string): RateLimit => {
  const given = requireNestedOptions<keyof RateLimitOptions>(value, option, {
    limit: true,
    perMs: true,
    burst: true,
  });
  if (given.limit === 0)
    throw new InvalidOptionError(`${option}.limit`, "must be at least 1; use `pause` to start nothing", 0);
  const perMs = requireInteger(given.perMs, `${option}.perMs`, { min: 1, max: longestDurationMs });
  const most = Math.min(largestInt32, perMs * mostPerMs);
  const limit = requireInteger(given.limit, `${option}.limit`, { min: 1, max: most });
  const usualBurst = Math.min(limit, Math.max(1, Math.floor((limit * defaultBurstMs) / perMs)));
  const burst =
    given.burst === undefined
      ? usualBurst
      : requireInteger(given.burst, `${option}.burst`, { min: 1, max: limit });
  return { limit, perMs, burst };
};

const parseGroupLimits = (value: unknown, option: string): LimitValues => {
  const { concurrency = null, rate = null } = requireNestedOptions<keyof GroupLimitOptions>(value, option, {
    concurrency: true,
    rate: true,
  });
  return {
    concurrency: orNull(concurrency, (given) => parseConcurrency(given, `${option}.concurrency`)),
    rate: orNull(rate, (given) => parseRate(given, `${option}.rate`)),
  };
};

const parseWeights = (value: unknown, option: string): Record<string, number> => {
  const entries = Object.entries(requirePlainObject(value, option));
  if (entries.length > mostWeights)
    throw new InvalidOptionError(
      option,
      `must name at most ${mostWeights} groups; it names ${entries.length}`,
    );
  return Object.fromEntries(
    entries.map(([group, weight]) => {
      const path = `${option}[${JSON.stringify(group.slice(0, 200))}]`;
      requireName(group, path);
      return [group, requireNumber(weight, path, { min: 0.001, max: 1_000 })];
    }),
  );
};

type Parts = { -readonly [K in keyof LimitRuleChange]: LimitRuleChange[K] };

/** Reads the parts of a rule that are named. */
export const parseLimitRule = (given: UncheckedOptions<keyof LimitRuleOptions>): LimitRuleChange => {
  const { paused, concurrency, rate, perGroup, weights } = given;
  const change: Parts = {};
  if (paused !== undefined) change.paused = requireBoolean(paused, "paused");
  if (concurrency !== undefined)
    change.concurrency = orNull(concurrency, (value) => parseConcurrency(value, "concurrency"));
  if (rate !== undefined) change.rate = orNull(rate, (value) => parseRate(value, "rate"));
  if (perGroup !== undefined)
    change.perGroup = orNull(perGroup, (value) => parseGroupLimits(value, "perGroup"));
  if (weights !== undefined) change.weights = weights === null ? {} : parseWeights(weights, "weights");
  return change;
};
