import { InvalidOptionError } from "../base/errors.ts";
import {
  type OptionNames,
  requireArray,
  requireBoolean,
  requireFunction,
  requireName,
  requireNestedOptions,
  requirePlainObject,
  type UncheckedOptions,
} from "../base/options.ts";
import type { CheckedJobTypes, CheckedUnionJobTypes } from "./checks.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
  DefineParsed,
  StoredInput,
} from "./markers.ts";
import type {
  AnyStandardSchema,
  GroupOf,
  JobTypeOptions,
  JobTypeSettings,
  RuntimeJobType,
  SchemaInput,
  SchemaOutput,
  StandardSchemaV1,
  TypeOnly,
  VaryingBlockers,
} from "./options.ts";
import { parseRetention } from "./retention.ts";
import { parseRetryPolicy } from "./retry-policy.ts";
import { readTypeJobSettings, typeJobSettingNames } from "./settings.ts";

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
    const schema: (Partial<StandardSchemaV1> & { readonly "~leasehold"?: unknown }) | null = value;
    if (schema?.["~leasehold"] === "type-only") return undefined;
    const standard = schema?.["~standard"];
    if (standard?.version === 1 && typeof standard.validate === "function") return value as StandardSchemaV1;
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
    ...readBlockers(entry.blockers, at("blockers")),
  });
};

const readBlockers = (value: unknown, option: string): Pick<RuntimeJobType, "blockers" | "blockersVary"> => {
  if (value === undefined || Array.isArray(value)) return { blockers: readNames(value ?? [], option) };
  const { anyNumberOf } = requireNestedOptions<keyof VaryingBlockers>(value, option, { anyNumberOf: true });
  const blockers = readNames(anyNumberOf, `${option}.anyNumberOf`);
  if (blockers.length === 0)
    throw new InvalidOptionError(`${option}.anyNumberOf`, "must name a job type", anyNumberOf);
  return { blockers, blockersVary: true };
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
const checkJobTypeOptions = (options: unknown): ReadonlyMap<string, RuntimeJobType> => {
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
const checkJobTypeSettings = (settings: unknown): ReadonlyMap<string, RuntimeJobType> => {
  const definitions = new Map<string, RuntimeJobType>();
  for (const [name, value] of Object.entries(requirePlainObject(settings, "jobTypes"))) {
    const [entry, at] = openEntry(name, value, knownSettings);
    definitions.set(name, Object.freeze(readSettings(entry, at)));
  }
  return definitions;
};

const typeOnlyMarker: TypeOnly<never> = Object.freeze({ "~leasehold": "type-only" });

/** In `defineJobTypes`, gives an input or output its type without a schema: nothing is validated at run time. */
export const typeOnly = <T>(): TypeOnly<T> => typeOnlyMarker;

/**
 * The job types of an application: `TDefs` for the compiler, `definitions` for the engine. Accessors of a class, because a spread
 * leaves them out: `{ ...a, ...b }` would have the types of `b` alone.
 */
export declare class JobTypes<TDefs> {
  private constructor();
  /**
   * Defined by types alone: `definitions` has settings only, and at run time every name is allowed and every value
   * taken as it is. Otherwise a name that is not in `definitions` is an error.
   */
  get acceptsAnyName(): boolean;
  get definitions(): ReadonlyMap<string, RuntimeJobType>;
  /** Exists in the types only. */
  readonly "~definitions"?: TDefs;
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- what the definitions mean, which only callers have
export const createJobTypes = <TDefs>(
  acceptsAnyName: boolean,
  definitions: ReadonlyMap<string, RuntimeJobType>,
): JobTypes<TDefs> => Object.freeze(Object.create(Object.freeze({ acceptsAnyName, definitions })));

/** The job types of whatever application. */
export type AnyJobTypes = JobTypes<unknown>;

/** What an entry of `defineJobTypes` means, in the vocabulary of `defineUnionJobTypes`. */
export type ResolveJobType<TOptions> = TOptions extends {
  readonly blockers: infer TNames extends readonly string[];
}
  ? {
      input: ResolveInput<TOptions>;
      output: ResolveOutput<TOptions>;
      blockers: { [I in keyof TNames]: DefineBlocker<TNames[I]> };
    }
  : TOptions extends { readonly blockers: VaryingBlockers<infer TName> }
    ? {
        input: ResolveInput<TOptions>;
        output: ResolveOutput<TOptions>;
        blockers: readonly DefineBlocker<TName>[];
      }
    : { input: ResolveInput<TOptions>; output: ResolveOutput<TOptions> };

type ResolveInput<TOptions> = TOptions extends { readonly internal: true }
  ? DefineContinuationInput<ResolveOwnInput<TOptions>>
  : ResolveOwnInput<TOptions>;

type ResolveOwnInput<TOptions> = TOptions extends { readonly input: infer TSchema }
  ? ResolvePart<TSchema>
  : null;

type ResolveOutput<TOptions> = TOptions extends { readonly continuesTo: readonly [] }
  ? ResolveOwnOutput<TOptions, null>
  : TOptions extends { readonly continuesTo: readonly (infer TName extends string)[] }
    ? DefineContinuationOutput<TName> | ResolveOwnOutput<TOptions, never>
    : ResolveOwnOutput<TOptions, null>;

type ResolveOwnOutput<TOptions, TAbsent> = TOptions extends { readonly output: infer TSchema }
  ? ResolvePart<TSchema>
  : TAbsent;

type ResolvePart<TSchema> =
  TSchema extends TypeOnly<infer T>
    ? Parsed<T, T>
    : TSchema extends AnyStandardSchema
      ? Parsed<SchemaInput<TSchema>, SchemaOutput<TSchema>>
      : never;

/** The plain type where a schema changes none, so that both forms of definition read the same in an editor. */
type Parsed<TAccepted, TStored> = unknown extends TStored
  ? DefineParsed<TAccepted, TStored>
  : [TAccepted, TStored] extends [TStored, TAccepted]
    ? TStored
    : DefineParsed<TAccepted, TStored>;

interface UnionJobTypeSettings<TDefs, TTypeName extends keyof TDefs> extends JobTypeSettings {
  readonly group?: GroupOf<StoredInput<TDefs, TTypeName>> | undefined;
}

/**
 * Defines job types by their types alone:
 *
 *     const jobTypes = defineUnionJobTypes<{
 *       "resize-image": { input: { url: string }; output: DefineContinuationOutput<"publish-image"> };
 *       "publish-image": { input: DefineContinuationInput<{ key: string }>; output: { url: string } };
 *     }>();
 *
 * Nothing about inputs, outputs and names is checked at run time; use `defineJobTypes` for schemas. The argument has
 * settings for some of the types: `defineUnionJobTypes<…>({ "resize-image": { queue: "images", timeoutMs: 60_000 } })`.
 *
 * @throws {InvalidOptionError} naming the entry and the setting, as in `jobTypes["resize-image"].timeoutMs`.
 */
export const defineUnionJobTypes = <TDefs extends CheckedUnionJobTypes<TDefs>>(
  settings: { readonly [K in keyof TDefs]?: UnionJobTypeSettings<TDefs, K> } = {},
): JobTypes<TDefs> => createJobTypes(true, checkJobTypeSettings(settings));

/** If the compiler knew `group` from here, too, it would not know of which of two types its input is. */
interface JobTypeEntry<TName extends string> extends Omit<JobTypeOptions<TName>, "group"> {
  readonly group?: unknown;
}

/**
 * Defines job types with schemas and settings:
 *
 *     const jobTypes = defineJobTypes({
 *       "resize-image": { input: z.object({ url: z.url() }), continuesTo: ["publish-image"], timeoutMs: 60_000 },
 *       "publish-image": { input: typeOnly<{ key: string }>(), output: typeOnly<{ url: string }>(), internal: true },
 *     });
 *
 * @throws {InvalidOptionError} naming the entry and the option, as in `jobTypes["resize-image"].timeoutMs`.
 */
export const defineJobTypes = <const T extends { readonly [K in keyof T]: JobTypeEntry<keyof T & string> }>(
  definitions: { readonly [K in keyof T]: T[K] & CheckedJobTypes<T>[K] },
  // Without a name of its own, the compiler shows this type resolved, not as the schemas it comes from.
): JobTypes<{ -readonly [K in keyof T]: ResolveJobType<T[K]> }> =>
  createJobTypes(false, checkJobTypeOptions(definitions));
