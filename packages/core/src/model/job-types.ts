import { checkJobTypeOptions, checkJobTypeSettings } from "./check-job-type-options.ts";
import type { CheckedJobTypes, CheckedUnionJobTypes } from "./job-type-checks.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
  DefineParsed,
  StoredInput,
} from "./job-type-markers.ts";
import type {
  GroupOf,
  JobTypeOptions,
  JobTypeSettings,
  RuntimeJobType,
  TypeOnly,
} from "./job-type-options.ts";
import type { AnyStandardSchema, SchemaInput, SchemaOutput } from "./standard-schema.ts";

const typeOnlyMarker: TypeOnly<never> = Object.freeze({ "~leasehold": "type-only" });

/** In `defineJobTypes`, gives an input or output its type without a schema: nothing is validated at run time. */
export const typeOnly = <T>(): TypeOnly<T> => typeOnlyMarker;

/** The job types of an application: `TDefs` for the compiler, `definitions` for the engine. */
export interface JobTypes<TDefs> {
  /**
   * Defined by types alone: `definitions` has settings only, and at run time every name is allowed and every value
   * taken as it is. Otherwise a name that is not in `definitions` is an error.
   */
  readonly isOpen: boolean;
  readonly definitions: ReadonlyMap<string, RuntimeJobType>;
  /** Exists in the types only. */
  readonly "~definitions"?: TDefs;
}

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
): JobTypes<TDefs> => Object.freeze({ isOpen: true, definitions: checkJobTypeSettings(settings) });

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
  definitions: T & CheckedJobTypes<T>,
  // Without a name of its own this type is shown by what it says, not by the schemas it comes from.
): JobTypes<{ -readonly [K in keyof T]: ResolveJobType<T[K]> }> =>
  Object.freeze({ isOpen: false, definitions: checkJobTypeOptions(definitions) });
