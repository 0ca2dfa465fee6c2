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
import type { JobTypeName } from "../job-types/markers.ts";
import type { ExternalJobTypeName } from "../job-types/navigation.ts";
import {
  actionQueue,
  actionTypeName,
  type FailureReason,
  failureReasons,
  type JobStatus,
  jobStatuses,
} from "../store/contract/job.ts";
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

/** One value, or several of which any may match. */
export type OneOrMany<T> = T | readonly T[];

/** Filters of jobs. Every filter given must match. */
export interface JobFilterOptions<
  TDefs,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs> = JobTypeName<TDefs>,
  TStatus extends JobStatus = JobStatus,
> {
  readonly id?: OneOrMany<TJobId> | undefined;
  /** The beginning of the id. The primary key finds the jobs, if ids are UUIDs. */
  readonly idPrefix?: string | undefined;
  readonly status?: OneOrMany<TStatus> | undefined;
  readonly queue?: OneOrMany<string> | undefined;
  readonly typeName?: OneOrMany<TTypeName> | undefined;
  readonly sequenceTypeName?: OneOrMany<ExternalJobTypeName<TDefs>> | undefined;
  /**
   * The key that a sequence was started with. Only the first job of a sequence has one. Together with `sequenceTypeName` an
   * index finds the jobs.
   */
  readonly deduplicationKey?: OneOrMany<string> | undefined;
  /** Jobs of these groups, of any type. An index finds the jobs of one group. Needs a store with limits. */
  readonly group?: OneOrMany<string> | undefined;
  /** Jobs that these recurring jobs have started. An index finds the jobs of one. Continuations do not count. */
  readonly recurringJobId?: OneOrMany<string> | undefined;
  readonly sequenceId?: TJobId | undefined;
  readonly rootSequenceId?: TJobId | undefined;
  readonly failureReason?: OneOrMany<FailureReason> | undefined;
  /**
   * Of failed jobs: the kind of error that they failed with, from `history.listCauses` or `history.listAttempts`. An index finds them.
   * Needs a store that keeps a history.
   */
  readonly fingerprint?: OneOrMany<string> | undefined;
  /** Of running jobs: the worker that holds them. */
  readonly leasedBy?: OneOrMany<string> | undefined;
  /** Created at this time or later. */
  readonly createdFrom?: Date | undefined;
  /** Created before this time. */
  readonly createdBefore?: Date | undefined;
  /** Scheduled for this time or later. With `status: "pending"`: jobs that cannot run before it. */
  readonly scheduledFrom?: Date | undefined;
  /** Scheduled for an earlier time. With `status: "pending"` and the present time: jobs that can run now. */
  readonly scheduledBefore?: Date | undefined;
  /** Completed or failed at this time or later. */
  readonly finishedFrom?: Date | undefined;
  /** Completed or failed before this time. */
  readonly finishedBefore?: Date | undefined;
}

/** A filter of jobs: its option in the API, its flag in the command line, its field in the dashboard. */
export interface JobFilterField {
  readonly name: keyof JobFilterOptions<object, string>;
  /** Its name in the contract. */
  readonly stored: keyof JobFilter;
  /** `name` is a text without commas, `text` any text. */
  readonly kind: "id" | "status" | "reason" | "name" | "text" | "key" | "time";
  /** Whether it takes several values, of which any may match. */
  readonly many: boolean;
  /** As commander takes it; null if the command line has another way to choose by it. */
  readonly flag: string | null;
  readonly description: string;
}

type FieldTable = Readonly<Record<JobFilterField["name"], Omit<JobFilterField, "name">>>;

const many = (
  kind: JobFilterField["kind"],
  stored: keyof JobFilter,
  flag: string | null,
  description: string,
): Omit<JobFilterField, "name"> => ({ stored, kind, many: true, flag, description });

const one = (
  kind: JobFilterField["kind"],
  stored: keyof JobFilter,
  flag: string | null,
  description: string,
): Omit<JobFilterField, "name"> => ({ stored, kind, many: false, flag, description });

const fieldTable: FieldTable = {
  id: many("id", "ids", null, "jobs with this id"),
  idPrefix: one("text", "idPrefix", null, "jobs whose id begins with this"),
  status: many(
    "status",
    "statuses",
    "-s, --status <status>",
    `jobs in this status: ${jobStatuses.join(", ")}`,
  ),
  failureReason: many(
    "reason",
    "failureReasons",
    "--reason <reason>",
    `failed for this reason: ${failureReasons.join(", ")}`,
  ),
  queue: many("name", "queues", "-q, --queue <queue>", "jobs of this queue"),
  typeName: many("name", "typeNames", "-t, --type <type>", "jobs of this type"),
  sequenceTypeName: many(
    "name",
    "sequenceTypeNames",
    "--sequence-type <type>",
    "jobs of sequences that began with this type",
  ),
  deduplicationKey: many(
    "key",
    "deduplicationKeys",
    "--key <key>",
    "jobs started with this deduplication key",
  ),
  group: many("text", "groups", "-g, --group <group>", "jobs of this group"),
  recurringJobId: many(
    "text",
    "recurringJobIds",
    "--recurring <id>",
    "jobs that this recurring job has started",
  ),
  sequenceId: one("id", "sequenceId", "--sequence <id>", "jobs of this sequence"),
  rootSequenceId: one("id", "rootSequenceId", "--root <id>", "jobs of the tree below this sequence"),
  fingerprint: many("text", "fingerprints", "--cause <fingerprint>", "failed with this kind of error"),
  leasedBy: many("text", "leasedBy", "--worker <id>", "jobs that this worker runs"),
  createdFrom: one(
    "time",
    "createdFrom",
    "--created-after <when>",
    "created since: a date, or how long ago (2h)",
  ),
  createdBefore: one("time", "createdBefore", "--created-before <when>", "created before"),
  scheduledFrom: one(
    "time",
    "scheduledFrom",
    "--scheduled-after <when>",
    "to run then or later: a date, or 0s for now",
  ),
  scheduledBefore: one("time", "scheduledBefore", "--scheduled-before <when>", "to run before"),
  finishedFrom: one("time", "finishedFrom", "--finished-after <when>", "completed or failed since"),
  finishedBefore: one("time", "finishedBefore", "--finished-before <when>", "completed or failed before"),
};

const filterNames = Object.keys(fieldTable) as JobFilterField["name"][];

/** Every filter of jobs. API, command line and dashboard take their filters from here. */
export const jobFilterFields: readonly JobFilterField[] = filterNames.map((name) => ({
  name,
  ...fieldTable[name],
}));

const checks: Readonly<Record<JobFilterField["kind"], Check<unknown>>> = {
  id: requireId,
  status: (value, option) => requireOneOf(value, option, jobStatuses),
  reason: (value, option) => requireOneOf(value, option, failureReasons),
  name: requireName,
  text: requireName,
  key: requireDeduplicationKey,
  time: (value, option) => requireDate(value, option).getTime(),
};

export const jobFilterOptions: OptionNames = Object.fromEntries(filterNames.map((name) => [name, true]));

/** `prefix` is put before option names in errors, as in `filter.status`. */
export const parseJobFilter = (passed: Record<string, unknown>, prefix = ""): JobFilter => {
  const filter: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(passed)) {
    if (!Object.hasOwn(fieldTable, key)) throw unknownOption(key, filterNames, "a job filter", prefix);
    if (value === undefined) continue;
    const field = fieldTable[key as JobFilterField["name"]];
    const check = checks[field.kind];
    filter[field.stored] = field.many ? oneOrMany(value, prefix + key, check) : check(value, prefix + key);
  }
  return filter;
};

/** The same, for a call. A filter may need an optional part of the store. */
export const parseJobFilterFor = (
  store: StateStore,
  operation: string,
  passed: Record<string, unknown>,
  prefix = "",
): JobFilter => {
  const filter = parseJobFilter(passed, prefix);
  if (filter.fingerprints !== undefined) requirePart(store, "history", operation);
  if (filter.groups !== undefined) requirePart(store, "limits", operation);
  if (filter.recurringJobIds !== undefined) requirePart(store, "recurring", operation);
  return filter;
};

/** The filters among the options of a call. */
export const pickJobFilter = (options: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(options).filter(([key]) => Object.hasOwn(fieldTable, key)));

/** Leaves the dashboard's actions out, unless the filter names them: by id, by tree, by queue or by type. */
export const listedBy = (filter: JobFilter): ((job: { readonly queue: string }) => boolean) => {
  const { ids, idPrefix, rootSequenceId, queues, typeNames, sequenceTypeNames } = filter;
  const namesActions =
    ids !== undefined ||
    idPrefix !== undefined ||
    rootSequenceId !== undefined ||
    queues?.includes(actionQueue) ||
    typeNames?.includes(actionTypeName) ||
    sequenceTypeNames?.includes(actionTypeName);
  return ({ queue }) => namesActions === true || queue !== actionQueue;
};
