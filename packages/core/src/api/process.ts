import type { TransactionOptions } from "../contracts/state-adapter.ts";
import type { AnyJob, JobAbortReason, RunningJob, TypedAbortSignal } from "../model/entities.ts";
import type { AcceptedOutput, JobTypeName } from "../model/job-type-markers.ts";
import type { ContinuationJobTypes, JobOf } from "../model/job-type-navigation.ts";
import type { InputOption, JobOptions, StartBlockersOption } from "./start-options.ts";

declare const completion: unique symbol;
declare const continuation: unique symbol;

/** The job has been completed by `complete`; a process function returns it instead of an output. */
export interface JobCompletion<TTypeName> {
  readonly [completion]: TTypeName;
}

/** The sequence goes on with a job of type `TTypeName`; the callback of `complete` returns it instead of an output. */
export interface JobContinuation<TTypeName> {
  readonly [continuation]: TTypeName;
}

/** The argument of `continueWith`. Only `typeName` decides on the type; the rest has to follow. */
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

/** Adds the next job to the sequence. At most once in a completion, and its result must be returned. */
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

/** The output a handler gives; nothing at all will do where it is `null`. */
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
   * Sets how the attempt is run. `"atomic"`: one transaction around everything up to the end of `complete`. `"staged"`:
   * the transaction ends with `prepare`, the lease is renewed while the handler works, and `complete` opens another.
   */
  (options: PrepareOptions): Promise<void>;
  /** The callback reads and writes in the transaction; what it returns is the result. It may be run more than once. */
  <T>(options: PrepareOptions, callback: (ctx: TTxContext) => Promise<T> | T): Promise<T>;
}

/** With `"atomic"`, the isolation level is that of the whole attempt; with `"staged"`, of the first transaction. */
export interface PrepareOptions extends TransactionOptions {
  readonly mode: "atomic" | "staged";
}

/**
 * Completes the job in one transaction with whatever the callback writes. If the store rolls that back for a transient
 * reason, such as a deadlock, the callback is run again.
 */
export type Complete<TDefs, TTxContext, TJobId extends string, TTypeName extends JobTypeName<TDefs>> = (
  callback: (
    options: CompleteCallbackOptions<TDefs, TTxContext, TJobId, TTypeName>,
  ) => CompletionResult<TDefs, TTypeName> | Promise<CompletionResult<TDefs, TTypeName>>,
  /** Not after `prepare({ mode: "atomic" })`, which has opened the transaction. */
  transaction?: TransactionOptions,
) => Promise<JobCompletion<TTypeName>>;

export interface ProcessOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> {
  readonly job: RunningJob<JobOf<TJobId, TDefs, TTypeName>>;
  /** Aborts when the result of this attempt is no longer wanted; `signal.reason` says why. */
  readonly signal: TypedAbortSignal<JobAbortReason>;
  readonly prepare: Prepare<TTxContext>;
  readonly complete: Complete<TDefs, TTxContext, TJobId, TTypeName>;
  /**
   * Stores a value that readers find as `job.progress`. Kept by later attempts until they report their own. A hint to
   * people: it may be skipped while somebody else is changing the job.
   */
  readonly reportProgress: (progress: unknown) => Promise<void>;
}

/**
 * A handler. The simple form returns its output and the worker writes the completion, batched with others. The other
 * form returns `complete(…)`, whose callback shares its transaction with the completion.
 */
export type ProcessFunction<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> = (
  options: ProcessOptions<TDefs, TTxContext, TJobId, TTypeName>,
) => Promise<HandlerOutput<TDefs, TTypeName> | JobCompletion<TTypeName>>;

/** What middleware sees of an attempt. Not tied to a set of job types, so that it can be shared. */
export interface MiddlewareContext {
  readonly job: RunningJob<AnyJob>;
  readonly signal: TypedAbortSignal<JobAbortReason>;
  readonly workerId: string;
}

/**
 * Wraps the handler: code before and after `next()`. It passes on what `next()` returns, or throws; one that does not
 * call `next()` answers for the handler, and what it returns is the output.
 */
export type Middleware = (context: MiddlewareContext, next: () => Promise<unknown>) => Promise<unknown>;
