import type { BlockedJob, JobWithoutBlockers, PendingJob } from "../../job-types/entities.ts";
import type { AcceptedInput, BlockerMarkers, BlockerName, JobTypeName } from "../../job-types/markers.ts";
import type {
  ExternalJobTypeName,
  HasBlockers,
  JobOf,
  JobSequenceOf,
  JobTypeNames,
} from "../../job-types/navigation.ts";
import type { JobSettings, ScheduleOptions } from "../../store/contract/job.ts";

/**
 * The transaction context, spread in beside the options of a call. With all of it, the call is part of that transaction.
 * Without it, the call is a transaction of its own. A part of the context is refused.
 *
 * If the type of the context is not known, any other property is accepted.
 */
export type TransactionOption<TTxContext> = 0 extends 1 & TTxContext
  ? // oxlint-disable-next-line typescript/no-explicit-any -- an unknown context is no reason to give up the options' types
    { readonly [key: string]: any }
  : TTxContext | { readonly [K in keyof TTxContext]?: never };

/** What can be said of any new job, whether it starts a sequence or continues one. */
export interface JobOptions<TJobId> extends JobSettings {
  /** Makes a retried call recognisable: the same id twice is a `JobAlreadyExistsError`. Default: a new UUIDv7. */
  readonly id?: TJobId | undefined;
  /** Not before a moment, or not before some time has passed by the store's clock. Default: at once. */
  readonly schedule?: ScheduleOptions | undefined;
}

/** What a start does to a duplicate that waits. */
export type OnDuplicateOption =
  | "keep"
  | "replace"
  | {
      readonly debounce: {
        /** How long after its creation the job may be put off at most. */
        readonly maxDelayMs: number;
      };
    };

/** Two starts with the same key, of the same type, are one. */
export interface DeduplicationOptions {
  /** Up to 500 characters. Keys are scoped to the job type. */
  readonly key: string;
  /**
   * Which sequences count: `"unfinished"` ones (default; `"completed"` means the same), `"all"`, also finished ones, or
   * `"pending"`, only those whose first job waits to run. With `"pending"`, a start that finds the other one running starts
   * a second sequence.
   */
  readonly strategy?: "unfinished" | "completed" | "all" | "pending" | undefined;
  /** Only sequences started within this time count. Default: no limit. Not with the strategy `"pending"`. */
  readonly windowMs?: number | undefined;
  /**
   * What to do with a duplicate whose first job still waits:
   * - `"keep"` (default): nothing, it runs as it was started;
   * - `"replace"`: it gets this start's input and settings, and keeps its id, queue, time, blockers and tree;
   * - `debounce`: the same, and it also moves to this start's time, but never beyond `maxDelayMs` after its creation.
   *
   * A duplicate that runs or has finished is always kept: the result then says `replaced: false`.
   */
  readonly onDuplicate?: OnDuplicateOption | undefined;
}

/**
 * Many starts with the same key, of the same type, become one run after the last of them. Each start puts the job off and
 * replaces its input; once the job runs, the next start begins a new one.
 */
export interface DebounceOptions {
  /** Up to 500 characters. Keys are those of `deduplication`, scoped to the job type. */
  readonly key: string;
  /** How long no other start may follow before the job runs. */
  readonly waitMs: number;
  /** How long after the first start the job may be put off at most. At least `waitMs`. */
  readonly maxWaitMs: number;
}

/**
 * The input of a job of this type. If the type is one of several, the input must fit each of them. It can be left out where
 * none is expected or the schema has a default.
 *
 * For a misspelt name the compiler falls back to all types that can be started. Then the input of any type is accepted, so that the name is the
 * only error that it reports.
 */
export type InputOption<TDefs, TTypeName extends JobTypeName<TDefs>> = [
  JobTypeNames<TDefs>["external"],
] extends [TTypeName]
  ? InputProperty<AcceptedInput<TDefs, TTypeName>>
  : InputForEach<TDefs, TTypeName>;

type InputForEach<TDefs, TTypeName extends JobTypeName<TDefs>> = InputProperty<
  (TTypeName extends unknown ? (input: AcceptedInput<TDefs, TTypeName>) => void : never) extends (
    input: infer TInput,
  ) => void
    ? TInput
    : never
>;

type InputProperty<TInput> = [TInput] extends [never]
  ? { readonly input: never }
  : undefined extends TInput
    ? { readonly input?: TInput }
    : [TInput] extends [null]
      ? { readonly input?: TInput | undefined }
      : { readonly input: TInput };

/** A sequence to wait for: what `startJobSequence` or a query returned, or just its id and type. */
export interface BlockerReference<TJobId, TTypeName> {
  readonly id: TJobId;
  readonly typeName: TTypeName;
}

type BlockerReferences<TJobId, TMarkers extends readonly unknown[]> = {
  readonly [I in keyof TMarkers]: BlockerReference<TJobId, BlockerName<TMarkers[I]>>;
};

/** Starts the sequences that a new job waits for. */
export type StartBlockers<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> = StartBlockersFor<
  JobOf<TJobId, TDefs, TTypeName>,
  TTxContext,
  BlockerReferences<TJobId, BlockerMarkers<TDefs[TTypeName]>>
>;

type StartBlockersFor<TJob, TTxContext, TReferences> = (
  options: {
    /** The job that will wait. What the callback starts belongs to its tree. */
    readonly job: JobWithoutBlockers<PendingJob<TJob> | BlockedJob<TJob>>;
  } & TTxContext,
) => TReferences | Promise<TReferences>;

/** Required for a type with blockers, refused for one without. */
export type StartBlockersOption<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> =
  boolean extends HasBlockers<TDefs, TTypeName>
    ? { readonly startBlockers?: StartBlockers<TDefs, TTxContext, TJobId, TTypeName> }
    : HasBlockers<TDefs, TTypeName> extends true
      ? WaitsForBlockers<
          BlockerReferences<TJobId, BlockerMarkers<TDefs[TTypeName]>>,
          JobOf<TJobId, TDefs, TTypeName>,
          TTxContext
        >
      : { readonly startBlockers?: HasNoBlockers<TTypeName> };

interface WaitsForBlockers<TReferences, TJob, TTxContext> {
  /** Starts or finds the sequences that this job waits for. Return them in the order that its type declares. */
  readonly startBlockers: StartBlockersFor<TJob, TTxContext, TReferences>;
}

declare const refused: unique symbol;

/** In place of an option that jobs of the type cannot have; nothing is of this type. The compiler shows its name. */
interface HasNoBlockers<TTypeName> {
  readonly [refused]: TTypeName;
}

/** The argument of `startJobSequence`. `typeName` decides which type the other options must fit. */
export type StartJobSequenceOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends ExternalJobTypeName<TDefs>,
> = StartArguments<TDefs, TTxContext, TJobId, TTypeName>["startJobSequence"];

/** An interface, like `JobTypeNames`, so that compiler errors show the options and not the definitions. */
export interface StartArguments<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> {
  readonly startJobSequence: StartBasics<TTypeName, TJobId> &
    StartTiming &
    InputOption<TDefs, NoInfer<TTypeName>> &
    StartBlockersOption<TDefs, TTxContext, TJobId, NoInfer<TTypeName>> &
    TransactionOption<TTxContext>;
}

/**
 * `debounce` decides when the job runs and how duplicates are treated, so it excludes the options for either. It is optional in
 * both alternatives: the compiler compares an element of a bulk start whose `typeName` is a union with each of them.
 */
type StartTiming = PlainTiming | DebouncedTiming;

interface PlainTiming {
  /** Not before a moment, or not before some time has passed by the store's clock. Default: at once. */
  readonly schedule?: ScheduleOptions | undefined;
  /** Returns the existing sequence instead of starting a second one with the same key. */
  readonly deduplication?: DeduplicationOptions | undefined;
  readonly debounce?: undefined;
}

interface DebouncedTiming {
  /** Runs once after the last of many starts. Not together with `schedule` or `deduplication`. */
  readonly debounce?: DebounceOptions | undefined;
  readonly schedule?: undefined;
  readonly deduplication?: undefined;
}

interface StartBasics<TTypeName, TJobId> extends Omit<JobOptions<TJobId>, "schedule"> {
  /** The type of the job. */
  readonly typeName: TTypeName;
  /**
   * Starts a tree of its own, also inside a handler, so that it can be deleted and pruned on its own. Use it when each job of
   * an endless chain starts the next. `originId` still names the job that started it. Cancelling that job with its children does not reach it. Default: false.
   */
  readonly detached?: boolean | undefined;
}

/** One element of `startJobSequences({ sequences })`. */
export type BulkStartOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends ExternalJobTypeName<TDefs>,
> = TTypeName extends unknown
  ? StartBasics<TTypeName, TJobId> &
      StartTiming &
      InputOption<TDefs, TTypeName> &
      StartBlockersOption<TDefs, TTxContext, TJobId, TTypeName>
  : never;

/** What `startJobSequence` returns for a job of this type. */
export type StartedJobSequence<
  TJobId extends string,
  TDefs,
  TTypeName extends JobTypeName<TDefs>,
> = StartedByType<TJobId, TDefs>[TTypeName];

type StartedByType<TJobId extends string, TDefs> = {
  [K in JobTypeName<TDefs>]: Started<JobSequenceOf<TJobId, TDefs, K>>;
};

type Started<TSequence> = TSequence & {
  /** True if the sequence existed already and was found by its deduplication key. */
  readonly deduplicated: boolean;
  /** True if this start took the place of the job that waited there (`onDuplicate`). */
  readonly replaced: boolean;
};

/** The results of `startJobSequences`, each with the type of its element. */
export type StartedJobSequences<
  TJobId extends string,
  TDefs,
  TItems extends readonly { readonly typeName: JobTypeName<TDefs> }[],
> = { -readonly [I in keyof TItems]: StartedJobSequence<TJobId, TDefs, TItems[I]["typeName"]> };
