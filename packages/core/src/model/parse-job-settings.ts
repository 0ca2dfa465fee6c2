import type { ResolvedDefaults } from "./defaults.ts";
import { largestInt32, longestDurationMs } from "./limits.ts";
import {
  type NumberLimits,
  type OptionNames,
  requireInteger,
  requireName,
  requireNestedOptions,
  requireOneOf,
  type UncheckedOptions,
} from "./option-checks.ts";
import type { JobSettings, StoredJobSettings, TypeJobSettings } from "./job-settings.ts";

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
  defaults: Pick<ResolvedDefaults, "maxAttempts">,
): StoredJobSettings => ({
  queue: given.queue ?? type.queue ?? defaultQueue,
  priority: given.priority ?? type.priority ?? 0,
  maxAttempts: given.maxAttempts ?? type.maxAttempts ?? defaults.maxAttempts,
  maxAttemptsGiven: given.maxAttempts !== undefined,
  timeoutMs: smallest(given.timeoutMs, type.timeoutMs),
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
