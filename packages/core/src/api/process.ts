import type { TransactionOptions } from "../contracts/state-adapter.ts";
import type { AnyJob, JobAbortReason, RunningJob, TypedAbortSignal } from "../model/entities.ts";
import type { AcceptedOutput, JobTypeName } from "../model/job-type-markers.ts";
import type { ContinuationJobTypes, JobOf } from "../model/job-type-navigation.ts";
import type { InputOption, JobOptions, StartBlockersOption } from "./start-options.ts";

declare const completion: unique symbol;
declare const continuation: unique symbol;

/** What `complete` resolves to. The handler returns it instead of an output. */
export interface JobCompletion<TTypeName> {
  readonly [completion]: TTypeName;
}

/** What `continueWith` resolves to. The callback of `complete` returns it instead of an output. */
export interface JobContinuation<TTypeName> {
  readonly [continuation]: TTypeName;
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
) => Promise<JobContinuation<TNextTypeName>>;

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
 * such as a deadlock, the callback runs again.
 */
export type Complete<TDefs, TTxContext, TJobId extends string, TTypeName extends JobTypeName<TDefs>> = (
  callback: (
    options: CompleteCallbackOptions<TDefs, TTxContext, TJobId, TTypeName>,
  ) => CompletionResult<TDefs, TTypeName> | Promise<CompletionResult<TDefs, TTypeName>>,
  /** Leave it out after `prepare({ mode: "atomic" })`, which has already opened the transaction. */
  transaction?: TransactionOptions,
) => Promise<JobCompletion<TTypeName>>;

/** What a handler gets. */
export interface ProcessOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> {
  /** The job, with its input and its completed blockers. */
  readonly job: RunningJob<JobOf<TJobId, TDefs, TTypeName>>;
  /** Aborts when the result of this attempt is no longer wanted; `signal.reason` says why. */
  readonly signal: TypedAbortSignal<JobAbortReason>;
  /** Reads and writes in a transaction before the work. Optional. */
  readonly prepare: Prepare<TTxContext>;
  /** Completes the job together with writes of your own. Optional: a handler may also return its output. */
  readonly complete: Complete<TDefs, TTxContext, TJobId, TTypeName>;
  /**
   * Stores a value that readers find as `job.progress`. Later attempts keep it until they report their own. It is for
   * people: a report is skipped while somebody else is changing the job.
   */
  readonly reportProgress: (progress: unknown) => Promise<void>;
  /**
   * Notes a line about this attempt: a text, and values that JSON can hold. If the attempt fails, the last lines are stored
   * with it, at most 100 and 16 KiB; `listJobAttempts` shows them. If it completes, they are dropped. Never throws.
   */
  readonly log: (text: string, data?: unknown) => void;
}

/**
 * A handler. It returns the output, and the worker writes the completion in a batch with others. Or it returns
 * `complete(…)`, whose callback writes in the same transaction as the completion.
 */
export type JobHandler<TDefs, TTxContext, TJobId extends string, TTypeName extends JobTypeName<TDefs>> = (
  options: ProcessOptions<TDefs, TTxContext, TJobId, TTypeName>,
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
 */
export type Middleware = (context: MiddlewareContext, next: () => Promise<unknown>) => Promise<unknown>;
