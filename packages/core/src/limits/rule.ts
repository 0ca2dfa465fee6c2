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
import { mostNamedGroups } from "../store/rules/limits.ts";

/**
 * `limit` starts for each `perMs`. Without `burst` there are never more than `limit` starts in any time of `perMs`. With it, up to
 * `burst` jobs start at once, and from then on one every `perMs / limit`: never more than `burst + limit - 1` in any time of
 * `perMs`.
 */
export interface RateLimitOptions extends Omit<RateLimit, "burst"> {
  /** From 1 to `limit`. */
  readonly burst?: number | null | undefined;
}

/** The limits of each group. What is not named stays as it is; null removes it. */
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
  /** How many jobs start in a time, over all workers. */
  readonly rate?: RateLimitOptions | null | undefined;
  /** Limits for each group. For a queue: for each group of each of its types. */
  readonly perGroup?: GroupLimitOptions | null | undefined;
  /**
   * How many turns a group gets for each turn of another, from 0.001 to 1,000. Groups that are not named keep what they have,
   * which is 1 if it was never set; null removes the weight of a group.
   */
  readonly weights?: Readonly<Record<string, number | null>> | null | undefined;
}

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
  const burst = orNull(given.burst ?? null, (value) =>
    requireInteger(value, `${option}.burst`, { min: 1, max: limit }),
  );
  return { limit, perMs, burst };
};

const parseLimits = (
  { concurrency, rate }: UncheckedOptions<keyof GroupLimitOptions>,
  prefix: string,
): Partial<LimitValues> => ({
  ...(concurrency !== undefined && {
    concurrency: orNull(concurrency, (given) => parseConcurrency(given, `${prefix}concurrency`)),
  }),
  ...(rate !== undefined && { rate: orNull(rate, (given) => parseRate(given, `${prefix}rate`)) }),
});

const parseGroupLimits = (value: unknown, option: string): Partial<LimitValues> => {
  const names = { concurrency: true, rate: true } as const;
  return parseLimits(requireNestedOptions<keyof GroupLimitOptions>(value, option, names), `${option}.`);
};

const parseWeights = (value: unknown, option: string): Record<string, number | null> => {
  const entries = Object.entries(requirePlainObject(value, option));
  if (entries.length > mostNamedGroups)
    throw new InvalidOptionError(
      option,
      `must name at most ${mostNamedGroups} groups; it names ${entries.length}`,
    );
  return Object.fromEntries(
    entries.map(([group, weight]) => {
      const path = `${option}[${JSON.stringify(group.slice(0, 200))}]`;
      requireName(group, path);
      return [group, orNull(weight, (given) => requireNumber(given, path, { min: 0.001, max: 1_000 }))];
    }),
  );
};

/** Reads the limits of one group. Other parts of a rule are not for a single group. */
export const parseNamedGroup = (
  group: string,
  given: UncheckedOptions<keyof LimitRuleOptions>,
): LimitRuleChange => {
  for (const part of ["paused", "perGroup", "weights"] as const)
    if (given[part] !== undefined)
      throw new InvalidOptionError(part, "cannot be set with `group`; only `concurrency` and `rate` can");
  const limits = parseLimits(given, "");
  return Object.keys(limits).length === 0 ? {} : { groups: { [group]: limits } };
};

/** Reads the parts of a rule that are named. */
export const parseLimitRule = (given: UncheckedOptions<keyof LimitRuleOptions>): LimitRuleChange => {
  const { paused, perGroup, weights } = given;
  return {
    ...(paused !== undefined && { paused: requireBoolean(paused, "paused") }),
    ...parseLimits(given, ""),
    ...(perGroup !== undefined && {
      perGroup: orNull(perGroup, (value) => parseGroupLimits(value, "perGroup")),
    }),
    ...(weights !== undefined && { weights: orNull(weights, (value) => parseWeights(value, "weights")) }),
  };
};
