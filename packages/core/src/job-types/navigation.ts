import type { Job, JobSequence } from "./entities.ts";
import type {
  BlockerMarkers,
  BlockerName,
  ContinuationNames,
  IsAny,
  IsInternal,
  JobTypeName,
  StoredInput,
  StoredOutput,
} from "./markers.ts";

/*
 * Finding one's way in a set of definitions.
 *
 * Everything is a mapped type over all names, and what is exported looks names up in it. So the compiler works each
 * answer out once per type; and where the name is still a type parameter, as in every generic method, it has nothing to
 * work out at all. The same written as conditions on the name costs seconds for a hundred types (benchmarks/type-cost.mjs).
 */

/** From each type to the types it continues to. */
type ContinuationGraph<TDefs> = {
  [K in JobTypeName<TDefs>]: ContinuationNames<TDefs[K]> & JobTypeName<TDefs>;
};

/** The same backwards. Keys that coincide after `as` are merged by the compiler, which makes this linear. */
type ContinuedTypes<TDefs> = { [K in JobTypeName<TDefs> as ContinuationGraph<TDefs>[K]]: K };

/** With all types for keys. `keyof` a type with `as` takes the compiler as long as to build it, so this does without. */
type OriginGraph<TDefs> = {
  [K in JobTypeName<TDefs>]: ContinuedTypes<TDefs> extends { readonly [P in K]: infer TOrigin }
    ? TOrigin
    : never;
};

/** Breadth first and tail recursive, so that long chains are no problem. */
type ReachableFrom<TGraph, TFrontier, TSeen = never> = [TFrontier] extends [never]
  ? TSeen
  : ReachableFrom<TGraph, Exclude<TGraph[TFrontier & keyof TGraph], TSeen | TFrontier>, TSeen | TFrontier>;

/** The definitions whose jobs can be started; the others are only continued to. */
export type ExternalJobTypeDefinitions<TDefs> = {
  [K in keyof TDefs as IsInternal<TDefs[K]> extends true ? never : K]: TDefs[K];
};

/** The names of the types whose jobs can be started. */
export type ExternalJobTypeName<TDefs> = keyof ExternalJobTypeDefinitions<TDefs> & JobTypeName<TDefs>;

/**
 * The names as the bounds of type parameters. The compiler shows a union under the alias it was computed by, with all
 * definitions as the argument; the property of an interface has no alias, so that its errors show the names.
 */
export interface JobTypeNames<TDefs> {
  readonly all: JobTypeName<TDefs> & keyof TDefs;
  readonly external: keyof ExternalJobTypeDefinitions<TDefs> & JobTypeName<TDefs>;
}

/** The types that a job of this type can continue with. */
export type ContinuationJobTypes<
  TDefs,
  TTypeName extends JobTypeName<TDefs>,
> = ContinuationGraph<TDefs>[TTypeName];

/** The types of all jobs a sequence can come to have that starts with this type, itself included. */
export type SequenceJobTypes<
  TDefs,
  TSequenceTypeName extends JobTypeName<TDefs>,
> = JobTypesBySequence<TDefs>[TSequenceTypeName];

type JobTypesBySequence<TDefs> = {
  [K in JobTypeName<TDefs>]: ReachableFrom<ContinuationGraph<TDefs>, K> & JobTypeName<TDefs>;
};

/** The types of all sequences in which a job of this type can occur. */
export type SequenceTypesReaching<
  TDefs,
  TTypeName extends JobTypeName<TDefs>,
> = SequencesByJobType<TDefs>[TTypeName];

type SequencesByJobType<TDefs> = {
  [K in JobTypeName<TDefs>]: ReachableFrom<OriginGraph<TDefs>, K> & ExternalJobTypeName<TDefs>;
};

/** `boolean` where the definitions are `any`. */
export type HasBlockers<TDefs, TTypeName extends JobTypeName<TDefs>> =
  IsAny<TDefs> extends true ? boolean : BlockerMarkers<TDefs[TTypeName]> extends readonly [] ? false : true;

/** The sequences a job of this type waits for, in the declared order. */
export type BlockerSequences<
  TJobId extends string,
  TDefs,
  TTypeName extends JobTypeName<TDefs>,
> = SequencesOfMarkers<TJobId, TDefs, BlockerMarkers<TDefs[TTypeName]>>;

type SequencesOfMarkers<TJobId extends string, TDefs, TMarkers extends readonly unknown[]> = {
  readonly [I in keyof TMarkers]: JobSequenceOf<TJobId, TDefs, BlockerName<TMarkers[I]> & JobTypeName<TDefs>>;
};

/** A sequence that starts with this type; for a union of types, the union of their sequences. */
export type JobSequenceOf<
  TJobId extends string,
  TDefs,
  TTypeName extends JobTypeName<TDefs>,
> = SequencesByType<TJobId, TDefs>[TTypeName];

type SequencesByType<TJobId extends string, TDefs> = {
  [K in JobTypeName<TDefs>]: JobSequence<
    TJobId,
    K,
    StoredInput<TDefs, K>,
    StoredOutput<TDefs, SequenceJobTypes<TDefs, K>>,
    SequenceJobTypes<TDefs, K>
  >;
};

/**
 * A job of this type; for a union of types, the union of their jobs. Its `sequenceTypeName` is one of
 * `SequenceTypesReaching`, and of `TSequenceTypeName` where that is given.
 */
export type JobOf<
  TJobId extends string,
  TDefs,
  TTypeName extends JobTypeName<TDefs>,
  TSequenceTypeName extends string = string,
> = JobsInSequences<TJobId, TDefs, TSequenceTypeName>[TTypeName];

type JobsInSequences<TJobId extends string, TDefs, TSequenceTypeName extends string> = {
  [K in JobTypeName<TDefs>]: Job<
    TJobId,
    K,
    StoredInput<TDefs, K>,
    BlockerSequences<TJobId, TDefs, K>,
    SequenceTypesReaching<TDefs, K> & TSequenceTypeName,
    StoredOutput<TDefs, K>,
    [ContinuationJobTypes<TDefs, K>] extends [never] ? false : true
  >;
};
