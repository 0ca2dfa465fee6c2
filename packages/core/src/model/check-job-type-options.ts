import { InvalidOptionError } from "../errors.ts";
import type { OnBlockerFailure } from "./job.ts";
import type { JobTypeOptions, RuntimeJobType } from "./job-types.ts";
import {
  type NumberLimits,
  requireArray,
  requireInteger,
  requireName,
  requireOneOf,
  requirePlainObject,
} from "./option-checks.ts";
import { parseRetryPolicy } from "./retry-policy.ts";
import type { StandardSchemaV1 } from "./standard-schema.ts";

// `satisfies` makes a new option of the type fail to compile here until it is read below.
const knownOptions = {
  input: true,
  output: true,
  internal: true,
  continuesTo: true,
  blockers: true,
  onBlockerFailure: true,
  queue: true,
  priority: true,
  maxAttempts: true,
  retry: true,
  timeoutMs: true,
  leaseMs: true,
} satisfies Record<keyof JobTypeOptions, true>;

// Every store keeps these in 32 bits.
const largestInt32 = 2 ** 31 - 1;
const priorityLimits = { min: -largestInt32, max: largestInt32 };
const attemptLimits = { min: 1, max: largestInt32 };
// A duration beyond a year is a mistake in units, not a wish.
const durationLimits = { min: 1, max: 366 * 24 * 3_600_000 };

const optional = <T>(value: unknown, read: (value: unknown) => T): T | undefined =>
  value === undefined ? undefined : read(value);

const readSchema = (value: unknown, option: string): StandardSchemaV1 | undefined => {
  // arktype's schemas are functions.
  if ((typeof value === "object" && value !== null) || typeof value === "function") {
    const { "~leasehold": marker, "~standard": standard } = value as Partial<Record<string, unknown>>;
    if (marker === "type-only") return undefined;
    const { version, validate } = (standard ?? {}) as Partial<Record<string, unknown>>;
    if (version === 1 && typeof validate === "function") return value as StandardSchemaV1;
  }
  throw new InvalidOptionError(option, "must be a Standard Schema (version 1) or typeOnly()", value);
};

const readNames = (value: unknown, option: string): readonly string[] =>
  Object.freeze(requireArray(value, option).map((name, index) => requireName(name, `${option}[${index}]`)));

const readInternal = (value: unknown, option: string): boolean => {
  if (value === undefined) return false;
  if (value === true) return true;
  throw new InvalidOptionError(option, "must be true or left out", value);
};

const readEntry = (name: string, value: unknown): RuntimeJobType => {
  const at = (option: string): string => `jobTypes[${JSON.stringify(name)}].${option}`;
  const entry = requirePlainObject(value, `jobTypes[${JSON.stringify(name)}]`);
  for (const option of Object.keys(entry)) {
    if (!Object.hasOwn(knownOptions, option)) {
      throw new InvalidOptionError(at(option), "is not an option of a job type", entry[option]);
    }
  }
  const integer = (
    option: "priority" | "maxAttempts" | "timeoutMs" | "leaseMs",
    limits: NumberLimits,
  ): number | undefined => optional(entry[option], (given) => requireInteger(given, at(option), limits));
  return Object.freeze({
    input: optional(entry["input"], (schema) => readSchema(schema, at("input"))),
    output: optional(entry["output"], (schema) => readSchema(schema, at("output"))),
    // Always there, unlike for types that exist for the compiler only: empty means none, not any.
    internal: readInternal(entry["internal"], at("internal")),
    continuesTo: readNames(entry["continuesTo"] ?? [], at("continuesTo")),
    blockers: readNames(entry["blockers"] ?? [], at("blockers")),
    onBlockerFailure: requireOneOf<OnBlockerFailure>(
      entry["onBlockerFailure"] ?? "fail",
      at("onBlockerFailure"),
      ["fail", "wait"],
    ),
    queue: optional(entry["queue"], (queue) => requireName(queue, at("queue"))),
    priority: integer("priority", priorityLimits),
    maxAttempts: integer("maxAttempts", attemptLimits),
    retry: optional(entry["retry"], (retry) => parseRetryPolicy(retry, at("retry"))),
    timeoutMs: integer("timeoutMs", durationLimits),
    leaseMs: integer("leaseMs", durationLimits),
  });
};

const checkReferences = (
  typeName: string,
  option: "continuesTo" | "blockers",
  definitions: ReadonlyMap<string, RuntimeJobType>,
): void => {
  for (const [index, name] of definitions.get(typeName)?.[option]?.entries() ?? []) {
    const path = `jobTypes[${JSON.stringify(typeName)}].${option}[${index}]`;
    const target = definitions.get(name);
    if (target === undefined) throw new InvalidOptionError(path, "must name a defined job type", name);
    // A sequence has the type of its first job, and an internal job is never the first.
    if (option === "blockers" && target.internal) {
      throw new InvalidOptionError(
        path,
        "must name a job type that can be started, not an internal one",
        name,
      );
    }
  }
};

/** Reads the argument of `defineJobTypes`, which may come from JavaScript. */
export const checkJobTypeOptions = (options: unknown): ReadonlyMap<string, RuntimeJobType> => {
  const definitions = new Map<string, RuntimeJobType>();
  for (const [name, entry] of Object.entries(requirePlainObject(options, "jobTypes"))) {
    requireName(name, `jobTypes[${JSON.stringify(name.slice(0, 200))}]`);
    definitions.set(name, readEntry(name, entry));
  }
  for (const name of definitions.keys()) {
    checkReferences(name, "continuesTo", definitions);
    checkReferences(name, "blockers", definitions);
  }
  return definitions;
};
