import { type Codec, jsonCodec } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import {
  type OptionNames,
  requireArray,
  requireDate,
  requireDeduplicationKey,
  requireId,
  requireName,
  requireNestedOptions,
  requireOneOf,
  unknownOption,
} from "../base/options.ts";
import type { StateStore } from "../engine/dispatch.ts";
import { actionQueue, actionTypeName, failureReasons, jobStatuses } from "../store/contract/job.ts";
import type { JobFilter } from "../store/contract/reads.ts";
import { requirePart } from "../store/parts.ts";

export interface InputSearch {
  /** Every input that matches contains it, and few others do: stores look for this. Undefined where they cannot. */
  readonly text: string | undefined;
  /** Whether it does match. */
  readonly matches: (input: string) => boolean;
}

type Step = string | number;

type Scalar = string | number | boolean | null;

const longestText = 1_000;

const isStep = (value: unknown): value is Step => typeof value === "string" || Number.isSafeInteger(value);

const isScalar = (value: unknown): value is Scalar =>
  value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value);

/** Names lead into objects, numbers into arrays. */
const enter = (value: unknown, step: Step): unknown => {
  if (Array.isArray(value)) return typeof step === "number" ? value[step] : undefined;
  const isProperty = typeof value === "object" && value !== null && Object.hasOwn(value, step);
  return isProperty && typeof step === "string" ? (value as Record<string, unknown>)[step] : undefined;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // Written with another codec.
    return undefined;
  }
};

const searchPlace = (codec: Codec, passed: unknown, givenPath: unknown, equals: unknown): InputSearch => {
  if (codec !== jsonCodec) {
    throw new InvalidOptionError(
      "input",
      "can be searched by a path only where the codec is JSON, the default; use `contains`",
      passed,
    );
  }
  const path = requireArray(givenPath, "input.path", { maxLength: 100 });
  if (!path.every(isStep)) {
    throw new InvalidOptionError("input.path", "must consist of names and, for arrays, whole numbers", path);
  }
  if (!isScalar(equals)) {
    throw new InvalidOptionError("input.equals", "must be a string, a number, a boolean or null", equals);
  }
  const last = path.at(-1);
  const name = typeof last === "string" ? `${JSON.stringify(last)}:` : "";
  return {
    // The codec keeps -0, as a value of its own.
    text: name + (Object.is(equals, -0) ? "-0" : JSON.stringify(equals)),
    matches: (input) => Object.is(path.reduce(enter, parseJson(input)), equals),
  };
};

/** As it stands inside the quotes of JSON. */
const escapeText = (text: string): string => JSON.stringify(text).slice(1, -1);

const searchText = (codec: Codec, contains: unknown): InputSearch => {
  if (typeof contains !== "string" || contains === "" || contains.length > longestText) {
    throw new InvalidOptionError(
      "input.contains",
      `must be a text of 1 to ${longestText} characters`,
      contains,
    );
  }
  const text = escapeText(contains);
  if (codec === jsonCodec) return { text, matches: () => true };
  return {
    text: undefined,
    matches: (input) => {
      try {
        return JSON.stringify(codec.decode(input) ?? null).includes(text);
      } catch {
        // Written with another codec, or nothing that can be shown as text.
        return false;
      }
    },
  };
};

/** The option `input` of `jobs.list`. */
export const parseInputSearch = (codec: Codec, passed: unknown): InputSearch | undefined => {
  if (passed === undefined) return undefined;
  const { path, equals, contains } = requireNestedOptions(passed, "input", {
    path: true,
    equals: true,
    contains: true,
  });
  if (contains === undefined) return searchPlace(codec, passed, path, equals);
  if (path !== undefined || equals !== undefined) {
    throw new InvalidOptionError("input.contains", "excludes `path` and `equals`", contains);
  }
  return searchText(codec, contains);
};

type Check<T> = (value: unknown, option: string) => T;

/** One value or several, as an array. */
export const oneOrMany = <T>(value: unknown, option: string, check: Check<T>): T[] | undefined => {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) return [check(value, option)];
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

/** Leaves the dashboard's actions out, unless the filter names them: by id, by tree, by queue or by type. */
export const listedBy = (filter: JobFilter): ((job: { readonly queue: string }) => boolean) => {
  const { ids, rootSequenceId, queues, typeNames, sequenceTypeNames } = filter;
  const namesActions =
    ids !== undefined ||
    rootSequenceId !== undefined ||
    queues?.includes(actionQueue) ||
    typeNames?.includes(actionTypeName) ||
    sequenceTypeNames?.includes(actionTypeName);
  return ({ queue }) => namesActions === true || queue !== actionQueue;
};
