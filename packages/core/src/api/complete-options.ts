import type { CompletedJob, CreatedJob } from "../model/entities.ts";
import type { JobTypeName } from "../model/job-type-markers.ts";
import type { ExternalJobTypeName, JobOf, SequenceJobTypes } from "../model/job-type-navigation.ts";
import type { CompleteCallbackOptions, CompletionResult, JobContinuation } from "./process.ts";
import type { TransactionOption } from "./transaction-context.ts";

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
