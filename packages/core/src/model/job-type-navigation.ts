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
} from "./job-type-markers.ts";

/*
 * Finding one's way in a set of definitions. The graphs below are mapped types without conditions on the caller's type
 * name, so the compiler builds each once per set of definitions; the searches then only look things up, breadth first
 * and tail recursive, which keeps a hundred types and long chains cheap (see benchmarks/type-cost.mjs).
 */

/** From each type to the types it continues to. */
type ContinuationGraph<TDefs> = { [K in JobTypeName<TDefs>]: ContinuationNames<TDefs[K]> & JobTypeName<TDefs> };

/** The same backwards. Keys that coincide after `as` are merged by the compiler, which makes this linear. */
type OriginGraph<TDefs> = { [K in JobTypeName<TDefs> as ContinuationGraph<TDefs>[K]]: K };

type ReachableFrom<TGraph, TFrontier, TSeen = never> = [TFrontier] extends [never]
  ? TSeen
  : ReachableFrom<TGraph, Exclude<TGraph[TFrontier & keyof TGraph], TSeen | TFrontier>, TSeen | TFrontier>;

/** The definitions whose jobs can be started; the others are only continued to. */
export type ExternalJobTypeDefinitions<TDefs> = {
  [K in keyof TDefs as IsInternal<TDefs[K]> extends true ? never : K]: TDefs[K];
};

/** The names of the types whose jobs can be started. */
export type ExternalJobTypeName<TDefs> = keyof ExternalJobTypeDefinitions<TDefs> & JobTypeName<TDefs>;

/** The types that a job of this type can continue with. */
export type ContinuationJobTypes<TDefs, TTypeName extends JobTypeName<TDefs>> = ContinuationGraph<TDefs>[TTypeName];

/** The types of all jobs a sequence can come to have that starts with this type, itself included. */
export type SequenceJobTypes<TDefs, TSequenceTypeName extends JobTypeName<TDefs>> = ReachableFrom<
  ContinuationGraph<TDefs>,
  TSequenceTypeName
> &
  JobTypeName<TDefs>;

/** The types of all sequences in which a job of this type can occur. */
export type SequenceTypesReaching<TDefs, TTypeName extends JobTypeName<TDefs>> = ReachableFrom<
  OriginGraph<TDefs>,
  TTypeName
> &
  ExternalJobTypeName<TDefs>;

/** `boolean` where the definitions are `any` and it cannot be told. */
export type HasBlockers<TDefs, TTypeName extends JobTypeName<TDefs>> =
  IsAny<TDefs> extends true ? boolean : BlockerMarkers<TDefs[TTypeName]> extends readonly [] ? false : true;

/** The sequences a job of this type waits for, in the declared order. */
export type BlockerSequences<TJobId extends string, TDefs, TTypeName extends JobTypeName<TDefs>> = SequencesOfMarkers<
  TJobId,
  TDefs,
  BlockerMarkers<TDefs[TTypeName]>
>;

type SequencesOfMarkers<TJobId extends string, TDefs, TMarkers extends readonly unknown[]> = {
  readonly [I in keyof TMarkers]: JobSequenceOf<TJobId, TDefs, BlockerName<TMarkers[I]> & JobTypeName<TDefs>>;
};

/** A sequence that starts with this type; for a union of types, the union of their sequences. */
export type JobSequenceOf<TJobId extends string, TDefs, TTypeName extends JobTypeName<TDefs>> = TTypeName extends unknown
  ? JobSequence<
      TJobId,
      TTypeName,
      StoredInput<TDefs, TTypeName>,
      StoredOutput<TDefs, SequenceJobTypes<TDefs, TTypeName>>,
      SequenceJobTypes<TDefs, TTypeName>
    >
  : never;

/**
 * A job of this type; for a union of types, the union of their jobs. `TSequenceTypeName` narrows the sequences it may
 * be part of.
 */
export type JobOf<
  TJobId extends string,
  TDefs,
  TTypeName extends JobTypeName<TDefs>,
  TSequenceTypeName extends string = SequenceTypesReaching<TDefs, TTypeName>,
> = TTypeName extends unknown
  ? Job<
      TJobId,
      TTypeName,
      StoredInput<TDefs, TTypeName>,
      BlockerSequences<TJobId, TDefs, TTypeName>,
      // A default computed for a union of types is too wide for each of them.
      TSequenceTypeName & SequenceTypesReaching<TDefs, TTypeName>,
      StoredOutput<TDefs, TTypeName>,
      [ContinuationJobTypes<TDefs, TTypeName>] extends [never] ? false : true
    >
  : never;
