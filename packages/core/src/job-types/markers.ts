declare const continuationInput: unique symbol;

declare const continuationOutput: unique symbol;

declare const blocker: unique symbol;

declare const parsed: unique symbol;

/** Around the `input` of a job type: it can only be reached by `continueWith`, never started. */
export interface DefineContinuationInput<T> {
  readonly [continuationInput]: T;
}

/** In the `output` of a job type, alone or in a union: the job may continue with a job of type `T`. */
export interface DefineContinuationOutput<T extends string> {
  readonly [continuationOutput]: T;
}

/** In the `blockers` of a job type: a job of it waits for a sequence of type `T`. */
export interface DefineBlocker<T extends string> {
  readonly [blocker]: T;
}

/**
 * An input or output that a schema turns from what callers pass into what is stored and read. `defineJobTypes` puts it
 * where the two differ. It also keeps `unknown` apart from a continuation beside it, which a plain union would swallow.
 */
export interface DefineParsed<TAccepted, TStored> {
  readonly [parsed]: { readonly accepted: TAccepted; readonly stored: TStored };
}

/**
 * Reading definitions. Everything below takes the definitions without a constraint: `Record<string, …>` would refuse
 * sets of definitions written as an interface.
 */
export type JobTypeName<TDefs> = keyof TDefs & string;

export type IsAny<T> = 0 extends 1 & T ? true : false;

type PartOf<TDef, TPart extends "input" | "output"> = TDef extends { readonly [P in TPart]: infer T }
  ? T
  : never;

type Accepted<T> = T extends DefineParsed<infer TAccepted, infer _TStored> ? TAccepted : T;

type Stored<T> = T extends DefineParsed<infer _TAccepted, infer TStored> ? TStored : T;

type WithoutContinuationInput<T> =
  IsAny<T> extends true ? T : T extends DefineContinuationInput<infer TInput> ? TInput : T;

type WithoutContinuations<T> = T extends DefineContinuationOutput<string> ? never : T;

/** What `startJobSequence` and `continueWith` take. */
export type AcceptedInput<TDefs, TTypeName extends keyof TDefs> = Accepted<
  WithoutContinuationInput<PartOf<TDefs[TTypeName], "input">>
>;

/** What is stored, and what `job.input` is. */
export type StoredInput<TDefs, TTypeName extends keyof TDefs> = Stored<
  WithoutContinuationInput<PartOf<TDefs[TTypeName], "input">>
>;

/** What a handler returns to end the sequence; `never` where the type always continues. */
export type AcceptedOutput<TDefs, TTypeName extends keyof TDefs> = Accepted<
  WithoutContinuations<PartOf<TDefs[TTypeName], "output">>
>;

/** What is stored and what `job.output` is; `never` where the type always continues. */
export type StoredOutput<TDefs, TTypeName extends keyof TDefs> = Stored<
  WithoutContinuations<PartOf<TDefs[TTypeName], "output">>
>;

/** The names that the output of one definition continues to. */
export type ContinuationNames<TDef> =
  PartOf<TDef, "output"> extends infer TOutput
    ? IsAny<TOutput> extends true
      ? never
      : TOutput extends DefineContinuationOutput<infer TName>
        ? TName
        : never
    : never;

export type IsInternal<TDef> =
  IsAny<PartOf<TDef, "input">> extends true
    ? false
    : PartOf<TDef, "input"> extends DefineContinuationInput<unknown>
      ? true
      : false;

/** The declared blockers as a tuple of markers; empty where there are none. */
export type BlockerMarkers<TDef> = TDef extends {
  readonly blockers: infer TBlockers extends readonly unknown[];
}
  ? TBlockers
  : readonly [];

export type BlockerName<TMarker> = TMarker extends DefineBlocker<infer TName> ? TName : never;
