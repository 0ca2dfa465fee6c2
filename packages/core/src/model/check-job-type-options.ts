import { InvalidOptionError } from "../errors.ts";
import { readTypeJobSettings, typeJobSettingNames } from "./parse-job-settings.ts";
import type { GroupOf, JobTypeOptions, JobTypeSettings, RuntimeJobType } from "./job-type-options.ts";
import {
  type OptionNames,
  readProperty,
  requireArray,
  requireBoolean,
  requireFunction,
  requireName,
  requireNestedOptions,
  requirePlainObject,
  type UncheckedOptions,
} from "./option-checks.ts";
import { parseRetention } from "./retention.ts";
import { parseRetryPolicy } from "./retry-policy.ts";
import type { StandardSchemaV1 } from "./standard-schema.ts";

const knownSettings: OptionNames<keyof JobTypeSettings> = {
  ...typeJobSettingNames,
  retry: true,
  retention: true,
  workerless: true,
  group: true,
};

const knownOptions: OptionNames<keyof JobTypeOptions> = {
  ...knownSettings,
  input: true,
  output: true,
  internal: true,
  continuesTo: true,
  blockers: true,
};

const optional = <T>(value: unknown, read: (value: unknown) => T): T | undefined =>
  value === undefined ? undefined : read(value);

const readSchema = (value: unknown, option: string): StandardSchemaV1 | undefined => {
  // arktype's schemas are functions.
  if (typeof value === "object" || typeof value === "function") {
    if (readProperty(value, "~leasehold") === "type-only") return undefined;
    const standard = readProperty(value, "~standard");
    const isSchema = readProperty(standard, "version") === 1;
    if (isSchema && typeof readProperty(standard, "validate") === "function")
      return value as StandardSchemaV1;
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

type OptionPath = (option: string) => string;

/** The entry with nothing in it that is not known. */
const openEntry = (
  name: string,
  value: unknown,
  known: Readonly<Record<string, true>>,
): [UncheckedOptions<keyof JobTypeOptions>, OptionPath] => {
  const path = `jobTypes[${JSON.stringify(name.slice(0, 200))}]`;
  requireName(name, path);
  return [requireNestedOptions(value, path, known), (option) => `${path}.${option}`];
};

const readSettings = (entry: UncheckedOptions<keyof JobTypeOptions>, at: OptionPath): RuntimeJobType => ({
  ...readTypeJobSettings(entry, at("")),
  retry: optional(entry.retry, (retry) => parseRetryPolicy(retry, at("retry"))),
  retention: optional(entry.retention, (given) => parseRetention(given, at("retention"))),
  workerless: optional(entry.workerless, (given) => requireBoolean(given, at("workerless"))),
  group: optional(entry.group, (given) => requireFunction<GroupOf>(given, at("group"))),
});

const readEntry = (name: string, value: unknown): RuntimeJobType => {
  const [entry, at] = openEntry(name, value, knownOptions);
  return Object.freeze({
    ...readSettings(entry, at),
    input: optional(entry.input, (schema) => readSchema(schema, at("input"))),
    output: optional(entry.output, (schema) => readSchema(schema, at("output"))),
    hasOutput: entry.output !== undefined,
    // Always there, unlike for types that exist for the compiler only: empty means none, not any.
    internal: readInternal(entry.internal, at("internal")),
    continuesTo: readNames(entry.continuesTo ?? [], at("continuesTo")),
    blockers: readNames(entry.blockers ?? [], at("blockers")),
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
    definitions.set(name, readEntry(name, entry));
  }
  for (const name of definitions.keys()) {
    checkReferences(name, "continuesTo", definitions);
    checkReferences(name, "blockers", definitions);
  }
  return definitions;
};

/** Reads the argument of `defineUnionJobTypes`, likewise. */
export const checkJobTypeSettings = (settings: unknown): ReadonlyMap<string, RuntimeJobType> => {
  const definitions = new Map<string, RuntimeJobType>();
  for (const [name, value] of Object.entries(requirePlainObject(settings, "jobTypes"))) {
    const [entry, at] = openEntry(name, value, knownSettings);
    definitions.set(name, Object.freeze(readSettings(entry, at)));
  }
  return definitions;
};
