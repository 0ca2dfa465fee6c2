import type { AnyJob, JobAbortReason, RunningJob, TypedAbortSignal } from "../job-types/entities.ts";
import type { AcceptedOutput, JobTypeName } from "../job-types/markers.ts";
import type { ContinuationJobTypes, JobOf } from "../job-types/navigation.ts";
import type { RetryPolicy } from "../job-types/retry-policy.ts";
import type {
  CompleteCallbackOptions,
  CompletedJobOf,
  CompletionResult,
  ContinueWithOptions,
  HandlerOutput,
  JobCompletion,
  JobContinuation,
} from "../jobs/api/complete.ts";
import type { TransactionOptions } from "../store/contract/calls.ts";

export interface Prepare<TTxContext> {
  /**
   * Chooses how the attempt uses transactions. `"atomic"`: one transaction from here to the end of `complete`.
   * `"staged"`: this transaction ends with `prepare`, the lease is renewed while the handler works, and `complete` opens
   * another one.
   */
  (options: PrepareOptions): Promise<void>;
  /** Runs the callback in the transaction and resolves to what it returns. The callback may run more than once. */
  <T>(options: PrepareOptions, callback: (ctx: TTxContext) => Promise<T> | T): Promise<T>;
}

/** The isolation level holds for the whole attempt with `"atomic"`, for the first transaction with `"staged"`. */
export interface PrepareOptions extends TransactionOptions {
  /** `"atomic"`: one transaction for the whole attempt. `"staged"`: one to prepare, another one to complete. */
  readonly mode: "atomic" | "staged";
}

/**
 * Completes the job in the same transaction as what the callback writes. If the store rolls it back with a transient error,
 * such as a deadlock, the callback runs again. Resolves to the completed job.
 */
export type Complete<TDefs, TTxContext, TJobId extends string, TTypeName extends JobTypeName<TDefs>> = (
  callback: (
    options: CompleteCallbackOptions<TDefs, TTxContext, TJobId, TTypeName>,
  ) => CompletionResult<TDefs, TTypeName> | Promise<CompletionResult<TDefs, TTypeName>>,
  /** Leave it out after `prepare({ mode: "atomic" })`, which has already opened the transaction. */
  transaction?: TransactionOptions,
) => Promise<CompletedJobOf<TDefs, TJobId, TTypeName>>;

/** What a handler gets. */
export interface ProcessOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> {
  /** The job, with its input and its completed blockers. */
  readonly job: RunningJob<JobOf<TJobId, TDefs, TTypeName>>;
  /** Aborts when the result of this attempt is no longer wanted; `signal.reason` is the reason. */
  readonly signal: TypedAbortSignal<JobAbortReason>;
  /** Reads and writes in a transaction before the work. Optional. */
  readonly prepare: Prepare<TTxContext>;
  /** Completes the job together with writes of your own. Optional: a handler may also return its output. */
  readonly complete: Complete<TDefs, TTxContext, TJobId, TTypeName>;
  /**
   * Stores a value that readers find as `job.progress`. Later attempts keep it until they report their own. It is for
   * people: a report is skipped while another transaction has locked the job.
   */
  readonly reportProgress: (progress: unknown) => Promise<void>;
  /**
   * Notes a line about this attempt: a text, and values that JSON can hold. If the attempt fails, the last lines are stored
   * with it, at most 100 and 16 KiB; `history.listAttempts` shows them. If it completes, they are dropped. Never throws.
   */
  readonly log: (text: string, data?: unknown) => void;
}

/**
 * A handler. It returns the output, and the worker writes the completion in a batch with other results. Or it returns
 * `complete(…)`, whose callback writes in the same transaction as the completion.
 */
export type JobHandler<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
  TValues = unknown,
> = (
  options: ProcessOptions<TDefs, TTxContext, TJobId, TTypeName> & TValues,
) => Promise<HandlerOutput<TDefs, TTypeName> | JobCompletion<TTypeName>>;

/** What middleware sees of an attempt. It does not depend on your job types, so that middleware can be shared. */
export interface MiddlewareContext {
  readonly job: RunningJob<AnyJob>;
  readonly signal: TypedAbortSignal<JobAbortReason>;
  readonly workerId: string;
  /** Notes a line about this attempt, as the handler can. */
  readonly log: (text: string, data?: unknown) => void;
}

/**
 * Wraps a handler with code before and after `next()`. Return what `next()` resolves to, or throw to fail the attempt.
 * Without a call of `next()` the handler does not run, and what the middleware returns is the output.
 *
 * `Middleware<{ tenant: Tenant }>` calls `next({ tenant })`, and every handler gets `tenant`. `TNeeded` has the values of
 * earlier middleware that it reads.
 */
export type Middleware<TValues = unknown, TNeeded = unknown> = (
  context: MiddlewareContext & TNeeded,
  next: MiddlewareNext<TValues>,
) => Promise<unknown>;

/** Runs the handler. A middleware with `TValues` passes them, and handlers find them beside `job` and `signal`. */
export type MiddlewareNext<TValues> = unknown extends TValues
  ? () => Promise<unknown>
  : (values: TValues) => Promise<unknown>;

/** The options of a handler besides its function. */
export interface HandlerOptionsOfType<TTypeName> {
  /** The job type to handle. */
  readonly typeName: TTypeName;
  /** When a failed attempt is tried again. Overrides the policy of the job type. */
  readonly retry?: RetryPolicy | undefined;
  /** How often a job may run in all. Overrides the job type; a start overrides it; a worker may cap it. */
  readonly maxAttempts?: number | undefined;
  /** How long one attempt may take. The smallest of this, the job's and the job type's counts. */
  readonly timeoutMs?: number | undefined;
}

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
  /** Aborts when no result of this call is wanted any more; `signal.reason` is the reason. */
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
  /** How long a job may wait for the batch to fill. Default: 0, a call gets the jobs that are there. */
  readonly maxWaitMs?: number | undefined;
  /** Whether all jobs of a call have the same `group`. Default: false. */
  readonly sameGroup?: boolean | undefined;
}
