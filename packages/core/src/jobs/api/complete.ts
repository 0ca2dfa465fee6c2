import type { CompletedJob, CreatedJob, JobBase } from "../../job-types/entities.ts";
import type { AcceptedOutput, JobTypeName, StoredInput } from "../../job-types/markers.ts";
import type {
  ContinuationJobTypes,
  ExternalJobTypeName,
  JobOf,
  SequenceJobTypes,
  SequenceTypesReaching,
} from "../../job-types/navigation.ts";
import type { InputOption, JobOptions, StartBlockersOption, TransactionOption } from "./start.ts";

declare const completion: unique symbol;

declare const continuation: unique symbol;

/** Marks what `complete` resolves to. The handler returns it instead of an output. */
export interface JobCompletion<TTypeName> {
  readonly [completion]: TTypeName;
}

/** Marks what `continueWith` resolves to. The callback of `complete` returns it instead of an output. */
export interface JobContinuation<TTypeName> {
  readonly [continuation]: TTypeName;
}

/** What `complete` resolves to: the completed job. The handler returns it instead of an output. */
export type CompletedJobOf<
  TDefs,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> = JobCompletion<TTypeName> & CompletedJob<JobOf<TJobId, TDefs, TTypeName>>;

/** What `continueWith` resolves to: the new job, without its blockers. */
export interface ContinuationJob<TDefs, TJobId extends string, TTypeName extends JobTypeName<TDefs>>
  extends
    JobContinuation<TTypeName>,
    JobBase<TJobId, TTypeName, StoredInput<TDefs, TTypeName>, SequenceTypesReaching<TDefs, TTypeName>> {
  /** `failed` if a sequence that it would wait for has failed already. */
  readonly status: "pending" | "blocked" | "failed";
}

/** The argument of `continueWith`. `typeName` decides which type the other options must fit. */
export type ContinueWithOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TNextTypeName extends JobTypeName<TDefs>,
> = ContinuationBasics<TNextTypeName, TJobId> &
  InputOption<TDefs, NoInfer<TNextTypeName>> &
  StartBlockersOption<TDefs, TTxContext, TJobId, NoInfer<TNextTypeName>>;

interface ContinuationBasics<TTypeName, TJobId> extends JobOptions<TJobId> {
  readonly typeName: TTypeName;
}

/** Adds the next job to the sequence. Call it at most once, and return its result from the callback. */
export type ContinueWith<TDefs, TTxContext, TJobId extends string, TTypeName extends JobTypeName<TDefs>> = <
  TNextTypeName extends ContinuationJobTypes<TDefs, TTypeName>,
>(
  options: ContinueWithOptions<TDefs, TTxContext, TJobId, TNextTypeName>,
) => Promise<ContinuationJob<TDefs, TJobId, TNextTypeName>>;

/** What the callback of `complete` gets: the transaction, and `continueWith` where the type has continuations. */
export type CompleteCallbackOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> = [ContinuationJobTypes<TDefs, TTypeName>] extends [never]
  ? TTxContext
  : { readonly continueWith: ContinueWith<TDefs, TTxContext, TJobId, TTypeName> } & TTxContext;

/** The output that a handler returns. Where it is `null`, the handler may return nothing. */
export type HandlerOutput<TDefs, TTypeName extends JobTypeName<TDefs>> = WithoutReturn<
  AcceptedOutput<TDefs, TTypeName>
>;

type WithoutReturn<TOutput> = [TOutput] extends [never]
  ? never
  : [TOutput] extends [null]
    ? TOutput | void
    : TOutput;

/** The output of the job, or what `continueWith` returned. */
export type CompletionResult<TDefs, TTypeName extends JobTypeName<TDefs>> =
  | HandlerOutput<TDefs, TTypeName>
  | ([ContinuationJobTypes<TDefs, TTypeName>] extends [never]
      ? never
      : JobContinuation<ContinuationJobTypes<TDefs, TTypeName>>);

/** The argument of `completeJobSequence`. */
export type CompleteJobSequenceOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends ExternalJobTypeName<TDefs>,
> = {
  /** The sequence. */
  readonly id: TJobId;
  readonly typeName: TTypeName;
  /** Completes the current job of the sequence, and the next ones if it likes, by calling `complete`. */
  readonly complete: (
    options: NoInfer<WorkerlessCompletions<TDefs, TTxContext, TJobId>[TTypeName] & TTxContext>,
  ) => Promise<unknown>;
} & TransactionOption<TTxContext>;

/**
 * By the type of the sequence. Looked up by a type parameter this costs nothing until the parameter is known; the same
 * written out for the parameter is worked out for all types at once, at a cost of seconds.
 */
type WorkerlessCompletions<TDefs, TTxContext, TJobId extends string> = {
  [K in ExternalJobTypeName<TDefs>]: {
    /** The current job, locked until the transaction ends. */
    readonly job: JobOf<TJobId, TDefs, SequenceJobTypes<TDefs, K>, K>;
    readonly complete: CompleteWorkerless<TDefs, TTxContext, TJobId, K>;
  };
};

/**
 * Completes a job: the current one, or what the last call returned. Throws `JobAlreadyCompletedError` or
 * `JobAlreadyFailedError` for a job that has ended. Resolves to the next job if the callback continued the sequence,
 * else to the completed one.
 */
export type CompleteWorkerless<
  TDefs,
  TTxContext,
  TJobId extends string,
  TSequenceTypeName extends JobTypeName<TDefs>,
> = <
  TJobTypeName extends SequenceJobTypes<TDefs, TSequenceTypeName>,
  TResult extends CommonCompletionResult<TDefs, TJobTypeName>,
>(
  job: { readonly id: TJobId; readonly typeName: TJobTypeName },
  callback: (
    options: CompleteCallbackOptions<TDefs, TTxContext, TJobId, TJobTypeName>,
  ) => TResult | Promise<TResult>,
) => Promise<CompletedOrNext<TDefs, TJobId, TSequenceTypeName, TJobTypeName, TResult>>;

/** What every type of a union accepts: for a job whose type is still open, nearly nothing, until it is narrowed. */
type CommonCompletionResult<TDefs, TTypeName extends JobTypeName<TDefs>> = (
  TTypeName extends unknown ? (result: CompletionResult<TDefs, TTypeName>) => void : never
) extends (result: infer TResult) => void
  ? TResult
  : never;

// One distribution over the result: an output leaves the completed job, a continuation the next one.
type CompletedOrNext<
  TDefs,
  TJobId extends string,
  TSequenceTypeName extends JobTypeName<TDefs>,
  TJobTypeName extends JobTypeName<TDefs>,
  TResult,
> =
  TResult extends JobContinuation<infer TNext extends JobTypeName<TDefs>>
    ? CreatedJob<JobOf<TJobId, TDefs, TNext, TSequenceTypeName>>
    : CompletedJob<JobOf<TJobId, TDefs, TJobTypeName, TSequenceTypeName>>;
