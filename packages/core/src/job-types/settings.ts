import { InvalidOptionError } from "../base/errors.ts";
import {
  largestInt32,
  longestDurationMs,
  type NumberLimits,
  type OptionNames,
  requireDate,
  requireInteger,
  requireName,
  requireNestedOptions,
  requireNumber,
  requireOneOf,
  type UncheckedOptions,
} from "../base/options.ts";
import type {
  JobSettings,
  Schedule,
  ScheduleOptions,
  StoredJobSettings,
  TypeJobSettings,
} from "../store/contract/job.ts";
import { immediately } from "../store/rules/transitions.ts";
import { parseRetention, type RetentionOptions } from "./retention.ts";
import { defaultRetryPolicy, parseRetryPolicy, type RetryPolicy } from "./retry-policy.ts";

/** What counts for all jobs of an instance, unless something else is said for a type, a handler or a job. */
export interface LeaseholdDefaults {
  /** How often a job may run in all. Default: 4. */
  readonly maxAttempts?: number | undefined;
  /** Default: exponential with full jitter. */
  readonly retry?: RetryPolicy | undefined;
  /** How long one attempt may take. Default: no limit; a handler that hangs then keeps its slot. */
  readonly timeoutMs?: number | undefined;
  /** How long a job may wait for its first attempt before it fails with `expired`. Default: no limit. */
  readonly expireAfterMs?: number | undefined;
  /** How long finished jobs are kept; workers delete them afterwards. Default: no limit. */
  readonly retention?: RetentionOptions | undefined;
}

export interface ResolvedDefaults extends LeaseholdDefaults {
  readonly maxAttempts: number;
  readonly retry: RetryPolicy;
}

const builtInMaxAttempts = 4;

export const parseDefaults = (passed: unknown = {}): ResolvedDefaults => {
  const { maxAttempts, retry, timeoutMs, expireAfterMs, retention } = requireNestedOptions<
    keyof LeaseholdDefaults
  >(passed, "defaults", {
    maxAttempts: true,
    retry: true,
    timeoutMs: true,
    expireAfterMs: true,
    retention: true,
  });
  const integer = (value: unknown, option: string, max: number): number | undefined =>
    value === undefined ? undefined : requireInteger(value, `defaults.${option}`, { min: 1, max });
  return {
    maxAttempts: integer(maxAttempts, "maxAttempts", largestInt32) ?? builtInMaxAttempts,
    retry: retry === undefined ? defaultRetryPolicy : parseRetryPolicy(retry, "defaults.retry"),
    timeoutMs: integer(timeoutMs, "timeoutMs", longestDurationMs),
    expireAfterMs: integer(expireAfterMs, "expireAfterMs", longestDurationMs),
    retention: retention === undefined ? undefined : parseRetention(retention, "defaults.retention"),
  };
};

const hourMs = 3_600_000;

/**
 * For work that depends on others who may be down for hours: twenty attempts, the first within seconds of the failure
 * and the last about a day later, two days at most. Spread it into a job type, a handler or the `defaults`.
 */
export const patientRetries: { readonly maxAttempts: number; readonly retry: RetryPolicy } = Object.freeze({
  maxAttempts: 20,
  retry: Object.freeze({ type: "exponential", baseMs: 5_000, maxMs: 6 * hourMs, jitter: "full" }),
});

type Check<T> = (value: unknown, option: string) => T;

const integer =
  (limits: NumberLimits): Check<number> =>
  (value, option) =>
    requireInteger(value, option, limits);

const duration = integer({ min: 1, max: longestDurationMs });

type Checks<TSettings> = { readonly [K in keyof TSettings]-?: Check<NonNullable<TSettings[K]>> };

const checks: Checks<JobSettings> = {
  queue: requireName,
  priority: integer({ min: -largestInt32, max: largestInt32 }),
  maxAttempts: integer({ min: 1, max: largestInt32 }),
  timeoutMs: duration,
  group: requireName,
  expireAfterMs: duration,
};

const { group: _group, ...checksOfBoth } = checks;

const typeChecks: Checks<TypeJobSettings> = {
  ...checksOfBoth,
  leaseMs: duration,
  onBlockerFailure: (value, option) => requireOneOf(value, option, ["fail", "wait"]),
  ordered: (value, option) => {
    if (typeof value === "boolean") return value;
    const { onFailure } = requireNestedOptions(value, option, { onFailure: true });
    return { onFailure: requireOneOf(onFailure, `${option}.onFailure`, ["continue", "stop"]) };
  },
};

const namesOf = <TName extends string>(table: Readonly<Record<TName, unknown>>): OptionNames<TName> =>
  Object.fromEntries(Object.keys(table).map((name) => [name, true])) as OptionNames<TName>;

export const jobSettingNames: OptionNames<keyof JobSettings> = namesOf(checks);

export const typeJobSettingNames: OptionNames<keyof TypeJobSettings> = namesOf(typeChecks);

const read = <TSettings extends object>(
  table: Checks<TSettings>,
  passed: object,
  path: string,
): TSettings => {
  const settings: Partial<TSettings> = {};
  for (const name in table) {
    const value = (passed as Partial<UncheckedOptions<typeof name>>)[name];
    settings[name] = value === undefined ? undefined : table[name](value, path + name);
  }
  return settings as TSettings;
};

const names = Object.keys(checks) as (keyof JobSettings)[];

const nothing: JobSettings = Object.freeze({});

/** Most starts say nothing, which should cost nothing. */
export const readJobSettings = (passed: Partial<UncheckedOptions<keyof JobSettings>>): JobSettings =>
  names.some((name) => passed[name] !== undefined) ? read(checks, passed, "") : nothing;

/** `path` is put before the names in errors. */
export const readTypeJobSettings = (passed: object, path: string): TypeJobSettings =>
  read(typeChecks, passed, path);

export const defaultQueue = "default";

export const resolveJobSettings = (
  given: JobSettings,
  type: TypeJobSettings,
  defaults: Pick<ResolvedDefaults, "maxAttempts" | "expireAfterMs">,
): StoredJobSettings => ({
  queue: given.queue ?? type.queue ?? defaultQueue,
  priority: given.priority ?? type.priority ?? 0,
  maxAttempts: given.maxAttempts ?? type.maxAttempts ?? defaults.maxAttempts,
  maxAttemptsGiven: given.maxAttempts !== undefined,
  timeoutMs: smallest(given.timeoutMs, type.timeoutMs),
  expireAfterMs: given.expireAfterMs ?? type.expireAfterMs ?? defaults.expireAfterMs ?? null,
  leaseMs: type.leaseMs ?? null,
  onBlockerFailure: type.onBlockerFailure ?? "fail",
  group: given.group ?? null,
  ordered: resolveOrdered(type.ordered),
});

const resolveOrdered = (ordered: TypeJobSettings["ordered"]): StoredJobSettings["ordered"] => {
  if (typeof ordered === "object") return ordered.onFailure;
  return ordered === true ? "continue" : null;
};

const smallest = (a: number | undefined, b: number | undefined): number | null =>
  a === undefined || b === undefined ? (a ?? b ?? null) : Math.min(a, b);

// A hundred years: beyond that it is a mistake in units.
const longestDelayMs = 100 * 365.25 * 24 * 3_600_000;

export const parseSchedule = (value: unknown, option = "schedule"): Schedule => {
  if (value === undefined) return immediately;
  const { at, afterMs } = requireNestedOptions<keyof ScheduleOptions>(value, option, {
    at: true,
    afterMs: true,
  });
  if ((at === undefined) === (afterMs === undefined)) {
    throw new InvalidOptionError(option, "must have exactly one of `at` and `afterMs`", value);
  }
  if (at !== undefined) return { at: requireDate(at, `${option}.at`).getTime() };
  return { afterMs: Math.ceil(requireNumber(afterMs, `${option}.afterMs`, { min: 0, max: longestDelayMs })) };
};
