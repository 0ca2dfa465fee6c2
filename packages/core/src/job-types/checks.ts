import type {
  BlockerName,
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
  DefineParsed,
  IsInternal,
} from "./markers.ts";
import type {
  AnyStandardSchema,
  GroupOf,
  JobTypeOptions,
  SchemaInput,
  SchemaOutput,
  TypeOnly,
  VaryingBlockers,
} from "./options.ts";

/**
 * `T` itself where JSON can hold it; where it cannot, the offending part is replaced by a sentence with the reason.
 * So `T extends JsonCompatible<T>` is the test, and the compiler's own elaboration names the path: `Type 'Date' is
 * not assignable to type '"a Date is not JSON: …"'`.
 *
 * Written as a mapped type rather than as a type that collects problems, because the compiler compares recursive types
 * (trees, JSON itself) lazily and without a depth limit, and because interfaces pass, which have no index signature.
 */
export type JsonCompatible<T> = unknown extends T
  ? T // `unknown` and `any`: the codec decides at run time
  : T extends string | number | boolean | null
    ? T
    : T extends readonly unknown[]
      ? JsonCompatibleArray<T>
      : T extends object
        ? JsonCompatibleObject<T>
        : T extends bigint
          ? "a bigint is not JSON: use a string"
          : T extends symbol
            ? "a symbol is not JSON"
            : "undefined is not JSON: use null, or an optional property";

// The compiler puts off `X[]` until it is looked into, but not a mapped array, which never ends for a recursive type.
type JsonCompatibleArray<T extends readonly unknown[]> = number extends T["length"]
  ? readonly JsonCompatible<T[number]>[]
  : { [I in keyof T]: JsonCompatible<T[I]> };

// oxlint-disable-next-line typescript/no-explicit-any -- the widest function type there is
type AnyFunction = (...args: any) => unknown;

type JsonCompatibleObject<T extends object> = T extends AnyFunction
  ? "a function is not JSON"
  : T extends Date
    ? "a Date is not JSON: use an ISO string or a number of milliseconds"
    : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
      ? "a Map or Set is not JSON: use an object or an array"
      : {
          // Symbol keys are the brands of schema libraries; nothing is stored under them. An undefined property is left
          // out when stored, and reads back the same.
          [K in keyof T]: K extends symbol
            ? T[K]
            : undefined extends T[K]
              ? JsonCompatibleOptional<T[K]>
              : JsonCompatible<T[K]>;
        };

type JsonCompatibleOptional<T> = unknown extends T ? T : JsonCompatible<Exclude<T, undefined>> | undefined;

/*
 * What must not compile at definition. Each check maps a definition to itself where it is right and to a sentence
 * where it is wrong, so that the error stands at the wrong part and describes it.
 */

type NotDefined<
  TVerb extends string,
  TName extends string,
> = `${TVerb} "${TName}", which is not a defined job type`;

type InternalBlocker<TName extends string> =
  `waits for "${TName}", which is internal: no sequence starts with it, so none can be waited for`;

// --- the types-only form -------------------------------------------------------------------------------------------

export type CheckedUnionJobTypes<TDefs> = { [K in keyof TDefs]: CheckedUnionJobType<TDefs, TDefs[K]> };

interface CheckedUnionJobType<TDefs, TDef> {
  readonly input: TDef extends { readonly input: infer TInput } ? CheckedInput<TInput> : unknown;
  readonly output: TDef extends { readonly output: infer TOutput } ? CheckedOutput<TDefs, TOutput> : unknown;
  readonly blockers?: TDef extends { readonly blockers: infer TBlockers extends readonly unknown[] }
    ? { readonly [I in keyof TBlockers]: CheckedBlocker<TDefs, TBlockers[I]> }
    : readonly DefineBlocker<string>[];
}

type CheckedInput<T> = unknown extends T
  ? T
  : T extends DefineContinuationInput<infer TInput>
    ? DefineContinuationInput<CheckedPart<TInput>>
    : CheckedPart<T>;

type CheckedOutput<TDefs, T> = unknown extends T
  ? T
  : T extends DefineContinuationOutput<infer TName>
    ? [TName] extends [keyof TDefs]
      ? T
      : NotDefined<"continues to", Exclude<TName, keyof TDefs>>
    : CheckedPart<T>;

type CheckedPart<T> =
  T extends DefineParsed<infer TAccepted, infer TStored>
    ? DefineParsed<TAccepted, JsonCompatible<TStored>>
    : JsonCompatible<T>;

type CheckedBlocker<TDefs, TMarker> = [BlockerName<TMarker>] extends [never]
  ? DefineBlocker<string>
  : [BlockerName<TMarker>] extends [keyof TDefs]
    ? true extends IsInternal<TDefs[BlockerName<TMarker> & keyof TDefs]>
      ? InternalBlocker<BlockerName<TMarker>>
      : TMarker
    : NotDefined<"waits for", Exclude<BlockerName<TMarker>, keyof TDefs>>;

// --- the runtime form ----------------------------------------------------------------------------------------------

export type CheckedJobTypes<T> = {
  readonly [K in keyof T]: { readonly [P in keyof T[K]]: CheckedOption<T, T[K], T[K][P], P> };
};

// Inference of the options alone would let a misspelt one pass, so unknown names are refused here.
type CheckedOption<T, TEntry, TValue, TName> = TName extends "input"
  ? CheckedInputSchema<TValue>
  : TName extends "output"
    ? CheckedSchema<TValue>
    : TName extends "continuesTo"
      ? readonly (keyof T & string)[]
      : TName extends "blockers"
        ? readonly StartableName<T>[] | VaryingBlockers<StartableName<T>>
        : TName extends "group"
          ? GroupOf<ValidatedInput<TEntry>> | undefined
          : TName extends keyof JobTypeOptions
            ? JobTypeOptions[TName]
            : "this is not an option of a job type";

type ValidatedInput<TEntry> = TEntry extends { readonly input: infer TSchema }
  ? TSchema extends TypeOnly<infer TInput>
    ? TInput
    : TSchema extends AnyStandardSchema
      ? SchemaOutput<TSchema>
      : never
  : null;

type StartableName<T> = { [K in keyof T]: T[K] extends { readonly internal: true } ? never : K }[keyof T] &
  string;

type CheckedSchema<TSchema> =
  TSchema extends TypeOnly<infer T>
    ? TypeOnly<JsonCompatible<T>>
    : TSchema extends AnyStandardSchema
      ? SchemaOutput<TSchema> extends JsonCompatible<SchemaOutput<TSchema>>
        ? TSchema
        : NotStorableSchema<JsonCompatible<SchemaOutput<TSchema>>>
      : AnyStandardSchema | TypeOnly<unknown>;

/** Names the problem when the schema returns it directly; a problem further inside has no one-line name. */
type NotStorableSchema<TCompatible> = TCompatible extends `${string} JSON${string}`
  ? `what this schema returns cannot be stored: ${TCompatible}`
  : "what this schema returns cannot be stored: it has a part that is not JSON";

// The stored value goes through the schema a second time when the job is claimed.
type CheckedInputSchema<TSchema> = TSchema extends AnyStandardSchema
  ? [SchemaOutput<TSchema>] extends [SchemaInput<TSchema>]
    ? CheckedSchema<TSchema>
    : "an input schema must accept what it returns: the stored input is validated again when the job is claimed"
  : CheckedSchema<TSchema>;
