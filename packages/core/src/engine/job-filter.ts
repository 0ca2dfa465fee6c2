import { requirePart } from "../contracts/optional-parts.ts";
import type { JobFilter } from "../contracts/state-adapter.ts";
import { failureReasons, jobStatuses } from "../model/job.ts";
import {
  isArray,
  type OptionNames,
  requireArray,
  requireDate,
  requireDeduplicationKey,
  requireId,
  requireName,
  requireOneOf,
  unknownOption,
} from "../model/option-checks.ts";
import type { StateStore } from "./dispatch.ts";

type Check<T> = (value: unknown, option: string) => T;

/** One value or several, as an array. */
export const oneOrMany = <T>(value: unknown, option: string, check: Check<T>): T[] | undefined => {
  if (value === undefined) return undefined;
  if (!isArray(value)) return [check(value, option)];
  return requireArray(value, option, { maxLength: 1_000 }).map((item, index) =>
    check(item, `${option}[${index}]`),
  );
};

const time = (value: unknown, option: string): number | undefined =>
  value === undefined ? undefined : requireDate(value, option).getTime();

const filterOptions = {
  id: (value, option) => ({ ids: oneOrMany(value, option, requireId) }),
  status: (value, option) => ({
    statuses: oneOrMany(value, option, (item, name) => requireOneOf(item, name, jobStatuses)),
  }),
  queue: (value, option) => ({ queues: oneOrMany(value, option, requireName) }),
  typeName: (value, option) => ({ typeNames: oneOrMany(value, option, requireName) }),
  sequenceTypeName: (value, option) => ({ sequenceTypeNames: oneOrMany(value, option, requireName) }),
  deduplicationKey: (value, option) => ({
    deduplicationKeys: oneOrMany(value, option, requireDeduplicationKey),
  }),
  sequenceId: (value, option) => ({ sequenceId: requireId(value, option) }),
  rootSequenceId: (value, option) => ({ rootSequenceId: requireId(value, option) }),
  failureReason: (value, option) => ({
    failureReasons: oneOrMany(value, option, (item, name) => requireOneOf(item, name, failureReasons)),
  }),
  fingerprint: (value, option) => ({ fingerprints: oneOrMany(value, option, requireName) }),
  leasedBy: (value, option) => ({ leasedBy: oneOrMany(value, option, requireName) }),
  createdFrom: (value, option) => ({ createdFrom: time(value, option) }),
  createdBefore: (value, option) => ({ createdBefore: time(value, option) }),
  scheduledFrom: (value, option) => ({ scheduledFrom: time(value, option) }),
  scheduledBefore: (value, option) => ({ scheduledBefore: time(value, option) }),
  finishedFrom: (value, option) => ({ finishedFrom: time(value, option) }),
  finishedBefore: (value, option) => ({ finishedBefore: time(value, option) }),
} satisfies Record<string, (value: unknown, option: string) => JobFilter>;

const filterNames = Object.keys(filterOptions);
export const jobFilterOptions: OptionNames = Object.fromEntries(filterNames.map((name) => [name, true]));

/** `prefix` is put before option names in errors, as in `filter.status`. */
export const parseJobFilter = (passed: Record<string, unknown>, prefix = ""): JobFilter => {
  let filter: JobFilter = {};
  for (const [key, value] of Object.entries(passed)) {
    if (!Object.hasOwn(filterOptions, key)) throw unknownOption(key, filterNames, "a job filter", prefix);
    if (value === undefined) continue;
    filter = { ...filter, ...filterOptions[key as keyof typeof filterOptions](value, prefix + key) };
  }
  return filter;
};

/** The same, for a call. Only a store that keeps a history can find jobs by some of them. */
export const parseJobFilterFor = (
  store: StateStore,
  operation: string,
  passed: Record<string, unknown>,
  prefix = "",
): JobFilter => {
  const filter = parseJobFilter(passed, prefix);
  if (filter.fingerprints !== undefined) requirePart(store, "history", operation);
  return filter;
};

/** The filters among the options of a call. */
export const pickJobFilter = (options: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(options).filter(([key]) => Object.hasOwn(filterOptions, key)));
