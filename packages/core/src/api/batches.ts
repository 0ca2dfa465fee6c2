import type { TransactionOptions } from "../contracts/state-adapter.ts";
import type { AnyJob, JobAbortReason, RunningJob, TypedAbortSignal } from "../model/entities.ts";
import type { AcceptedOutput, JobTypeName } from "../model/job-type-markers.ts";
import type { ContinuationJobTypes, JobOf } from "../model/job-type-navigation.ts";
import type { ContinueWithOptions, HandlerOutput, JobCompletion, JobContinuation } from "./process.ts";
import type { HandlerOptionsOfType } from "./worker.ts";

declare const failed: unique symbol;

/** What `failJob` returns. It takes the place of an output. */
export interface FailedOutput {
  readonly [failed]: true;
}

/** One for each job, in the order of the jobs. Where outputs are `null`, the handler may return nothing. */
export type BatchOutputs<TDefs, TTypeName extends JobTypeName<TDefs>> = OutputList<
  HandlerOutput<TDefs, TTypeName> | FailedOutput,
  AcceptedOutput<TDefs, TTypeName>
>;

type OutputList<TPlace, TOutput> =
  | readonly TPlace[]
  | ([TOutput] extends [never] ? never : [TOutput] extends [null] ? void : never);

/** Outputs, and in any place what `continueWith` returned. */
export type BatchCompletionResult<TDefs, TTypeName extends JobTypeName<TDefs>> = [
  ContinuationJobTypes<TDefs, TTypeName>,
] extends [never]
  ? BatchOutputs<TDefs, TTypeName>
  : OutputList<
      | HandlerOutput<TDefs, TTypeName>
      | FailedOutput
      | JobContinuation<ContinuationJobTypes<TDefs, TTypeName>>,
      AcceptedOutput<TDefs, TTypeName>
    >;

/** Describes the next job of a sequence. Return it in the place of its job; all of a batch are created together. */
export type ContinueBatchWith<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> = <TNextTypeName extends ContinuationJobTypes<TDefs, TTypeName>>(
  options: ContinueWithOptions<TDefs, TTxContext, TJobId, TNextTypeName>,
) => JobContinuation<TNextTypeName>;

/** The jobs of a batch that its worker holds, and that the transaction has locked. */
interface LockedJobs<TDefs, TJobId extends string, TTypeName extends JobTypeName<TDefs>> {
  readonly jobs: readonly RunningJob<JobOf<TJobId, TDefs, TTypeName>>[];
}

/** What the callback of `complete` gets: the transaction, the jobs, and `continueWith` where the type has continuations. */
export type CompleteBatchCallbackOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> = LockedJobs<TDefs, TJobId, TTypeName> &
  ([ContinuationJobTypes<TDefs, TTypeName>] extends [never]
    ? TTxContext
    : { readonly continueWith: ContinueBatchWith<TDefs, TTxContext, TJobId, TTypeName> } & TTxContext);

/**
 * Completes the jobs of the batch in the same transaction as what the callback writes. The callback gets the jobs that are
 * still held, which may be fewer than the batch had, and returns one output for each. If the store rolls the transaction back
 * with a transient error, or a job is lost meanwhile, the callback runs again.
 */
export type CompleteBatch<TDefs, TTxContext, TJobId extends string, TTypeName extends JobTypeName<TDefs>> = (
  callback: (
    options: CompleteBatchCallbackOptions<TDefs, TTxContext, TJobId, TTypeName>,
  ) => BatchCompletionResult<TDefs, TTypeName> | Promise<BatchCompletionResult<TDefs, TTypeName>>,
  transaction?: TransactionOptions,
) => Promise<JobCompletion<TTypeName>>;

/** What a batch handler gets. */
export interface BatchProcessOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> {
  /** The jobs, each with its input and its completed blockers. At least one, at most `maxSize`. */
  readonly jobs: readonly RunningJob<JobOf<TJobId, TDefs, TTypeName>>[];
  /** Aborts when no result of this call is wanted any more; `signal.reason` says why. */
  readonly signal: TypedAbortSignal<JobAbortReason>;
  /** The signal of one of the jobs: aborts when the result for this job is no longer wanted. */
  readonly signalOf: (job: { readonly id: TJobId }) => TypedAbortSignal<JobAbortReason>;
  /** Completes the jobs together with writes of your own. Optional: a handler may also return the outputs. */
  readonly complete: CompleteBatch<TDefs, TTxContext, TJobId, TTypeName>;
  /** Notes a line about this call. It is stored with each job of it whose attempt fails. Never throws. */
  readonly log: (text: string, data?: unknown) => void;
}

/**
 * A batch handler. It returns the outputs, one for each job and in the order of the jobs. Or it returns `complete(…)`, whose
 * callback writes in the same transaction as all completions. If it throws, every job of the batch is retried, alone.
 */
export type BatchJobHandler<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> = (
  options: BatchProcessOptions<TDefs, TTxContext, TJobId, TTypeName>,
) => Promise<BatchOutputs<TDefs, TTypeName> | JobCompletion<TTypeName>>;

/** What the middleware of batches sees. It does not depend on your job types, so that middleware can be shared. */
export interface BatchMiddlewareContext {
  readonly jobs: readonly RunningJob<AnyJob>[];
  readonly signal: TypedAbortSignal<JobAbortReason>;
  readonly signalOf: (job: { readonly id: string }) => TypedAbortSignal<JobAbortReason>;
  readonly workerId: string;
  /** Notes a line about this call, as the handler can. */
  readonly log: (text: string, data?: unknown) => void;
}

/**
 * Wraps a batch handler with code before and after `next()`. Return what `next()` resolves to, or throw: then every job of
 * the batch is retried, alone.
 */
export type BatchMiddleware = (
  context: BatchMiddlewareContext,
  next: () => Promise<unknown>,
) => Promise<unknown>;

/** The argument of `implementJobTypeBatch`. */
export interface ImplementJobTypeBatchOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> extends HandlerOptionsOfType<TTypeName> {
  /** The handler: runs one attempt of each job of a batch, in one call. */
  readonly process: BatchJobHandler<TDefs, TTxContext, TJobId, NoInfer<TTypeName>>;
  /** How many jobs one call gets at most. */
  readonly maxSize: number;
  /** How long a job may wait for others to fill the batch. Default: 0, a call gets what is there. */
  readonly maxWaitMs?: number | undefined;
  /** Whether all jobs of a call have the same `group`. Default: false. */
  readonly sameGroup?: boolean | undefined;
}
