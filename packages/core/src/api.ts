/// <reference lib="esnext.disposable" preserve="true" />
import type { CompleteJobSequenceOptions } from "./api/complete-options.ts";
import type {
  CancelledJobSequence,
  PruneOptions,
  RedriveOptions,
  RedriveReport,
  WaitOptions,
} from "./api/operations.ts";
import type {
  JobCountRow,
  JobExplanation,
  JobFilterOptions,
  JobListing,
  JobSequenceListing,
  ListedJob,
  ListedJobSequence,
  ListJobSequencesOptions,
  ListJobsOptions,
  PageOptions,
} from "./api/queries.ts";
import type {
  BulkStartOptions,
  StartArguments,
  StartedJobSequence,
  StartedJobSequences,
} from "./api/start-options.ts";
import type { TransactionOption } from "./api/transaction-context.ts";
import type { StopOptions, WorkerBuilder, WorkerDefinitionOptions } from "./api/worker.ts";
import type {
  AnyStateAdapter,
  GetStateAdapterJobId,
  GetStateAdapterTxContext,
} from "./contracts/state-adapter.ts";
import type { TransactionOptions } from "./contracts/state-adapter.ts";
import type { CompletedJobSequence, JobSequenceStatus } from "./model/entities.ts";
import type { JobStatus } from "./model/job.ts";
import type { JobTypeName } from "./model/job-type-markers.ts";
import type {
  ExternalJobTypeName,
  JobOf,
  JobSequenceOf,
  JobTypeNames,
  SequenceJobTypes,
} from "./model/job-type-navigation.ts";

/**
 * What `createLeasehold` returns. Underneath is an engine without types; this interface is all that stands between a
 * wrong call and the database.
 */
export type Leasehold<TDefs, TStateAdapter extends AnyStateAdapter> = LeaseholdApi<
  TDefs,
  GetStateAdapterTxContext<TStateAdapter>,
  GetStateAdapterJobId<TStateAdapter>
>;

/**
 * The same by transaction context and id type rather than by adapter.
 *
 * Wherever a method takes the transaction context, spread it in beside the options to make the call part of that
 * transaction. Left out, the call belongs to the transaction whose callback it is made in (`runInTransaction`,
 * `startBlockers`, `prepare`, `complete`), and elsewhere it is a transaction of its own.
 */
export interface LeaseholdApi<TDefs, TTxContext, TJobId extends string> {
  /** Starts a sequence with a job of this type. */
  startJobSequence<TTypeName extends JobTypeNames<TDefs>["all"]>(
    options: StartArguments<TDefs, TTxContext, TJobId, TTypeName>["startJobSequence"],
  ): Promise<StartedJobSequence<TJobId, TDefs, TTypeName>>;

  /** Short for `startJobSequence`. */
  start: LeaseholdApi<TDefs, TTxContext, TJobId>["startJobSequence"];

  /** Starts many sequences, all or none: in one store call, unless some of them have blockers to be started. */
  startJobSequences<
    TItems extends readonly BulkStartOptions<TDefs, TTxContext, TJobId, JobTypeNames<TDefs>["external"]>[],
  >(
    options: { readonly sequences: readonly [...TItems] } & TransactionOption<TTxContext>,
  ): Promise<StartedJobSequences<TJobId, TDefs, TItems>>;

  /** Completes jobs of a sequence from outside any worker: an approval, a webhook. */
  completeJobSequence<TTypeName extends JobTypeNames<TDefs>["external"]>(
    options: CompleteJobSequenceOptions<TDefs, TTxContext, TJobId, TTypeName>,
  ): Promise<JobSequenceOf<TJobId, TDefs, TTypeName>>;

  /**
   * Waits for a sequence to end. Rejects with `JobSequenceFailedError` as soon as it has failed, and with
   * `WaitForJobSequenceCompletionTimeoutError` when it takes too long. A sequence from another call can be spread in.
   */
  waitForJobSequenceCompletion<TTypeName extends JobTypeNames<TDefs>["external"]>(
    options: WaitOptions<TJobId, TTypeName>,
  ): Promise<CompletedJobSequence<JobSequenceOf<TJobId, TDefs, TTypeName>>>;

  /** Short for `waitForJobSequenceCompletion`. */
  waitFor: LeaseholdApi<TDefs, TTxContext, TJobId>["waitForJobSequenceCompletion"];

  /** Fails the current job of each sequence with `cancelled`; a running one is aborted. */
  cancelJobSequences(
    options: {
      readonly ids: readonly TJobId[];
      readonly reason?: string | undefined;
    } & TransactionOption<TTxContext>,
  ): Promise<readonly CancelledJobSequence<TJobId>[]>;

  /** Revives failed jobs, by id or by filter, and what failed because of them. */
  redriveJobs(
    options: RedriveOptions<TDefs, TJobId> & TransactionOption<TTxContext>,
  ): Promise<RedriveReport<TJobId>>;

  /** Removes whole trees of sequences, whatever their state. */
  deleteJobSequences(
    options: { readonly rootSequenceIds: readonly TJobId[] } & TransactionOption<TTxContext>,
  ): Promise<{ readonly deletedJobs: number }>;

  /** Removes trees of sequences that finished long ago, in batches, each a transaction of its own. */
  pruneJobSequences(options: PruneOptions): Promise<{ readonly deletedJobs: number }>;

  /**
   * Runs the callback in a transaction and tells waiting workers once it has committed. With an `isolationLevel` of
   * `repeatable read` or `serializable` the callback is run again, up to ten times in all, when the store rolls the
   * transaction back for the sake of others.
   */
  runInTransaction<T>(callback: (ctx: TTxContext) => Promise<T>, options?: TransactionOptions): Promise<T>;

  /** Around a transaction opened elsewhere: tells waiting workers once the callback has succeeded. */
  withNotify<T>(callback: () => Promise<T>): Promise<T>;

  /** With `typeName` the job must be of that type. */
  getJob<TTypeName extends JobTypeName<TDefs> = JobTypeName<TDefs>>(
    options: {
      readonly id: TJobId;
      readonly typeName?: TTypeName | undefined;
    } & TransactionOption<TTxContext>,
  ): Promise<JobOf<TJobId, TDefs, TTypeName> | undefined>;

  /** With `typeName` the sequence must be of that type. */
  getJobSequence<TTypeName extends ExternalJobTypeName<TDefs> = ExternalJobTypeName<TDefs>>(
    options: {
      readonly id: TJobId;
      readonly typeName?: TTypeName | undefined;
    } & TransactionOption<TTxContext>,
  ): Promise<JobSequenceOf<TJobId, TDefs, TTypeName> | undefined>;

  /** One page of jobs, typed by the `typeName` and `status` asked for. */
  listJobs<TTypeName extends JobTypeName<TDefs> = JobTypeName<TDefs>, TStatus extends JobStatus = JobStatus>(
    options?: ListJobsOptions<TDefs, TJobId, TTypeName, TStatus> & TransactionOption<TTxContext>,
  ): Promise<JobListing<ListedJob<TDefs, TJobId, TTypeName, TStatus>>>;

  /** One page of sequences, typed by the `typeName` and `status` asked for. */
  listJobSequences<
    TTypeName extends ExternalJobTypeName<TDefs> = ExternalJobTypeName<TDefs>,
    TStatus extends JobSequenceStatus = JobSequenceStatus,
  >(
    options?: ListJobSequencesOptions<TDefs, TJobId, TTypeName, TStatus> & TransactionOption<TTxContext>,
  ): Promise<JobSequenceListing<ListedJobSequence<TDefs, TJobId, TTypeName, TStatus>>>;

  /** The jobs of one sequence in the order they ran. */
  listSequenceJobs<TTypeName extends ExternalJobTypeName<TDefs> = ExternalJobTypeName<TDefs>>(
    options: { readonly id: TJobId; readonly typeName?: TTypeName | undefined } & PageOptions &
      TransactionOption<TTxContext>,
  ): Promise<JobListing<JobOf<TJobId, TDefs, SequenceJobTypes<TDefs, TTypeName>, TTypeName>>>;

  /** The sequences a job was made to wait for, in the order given. */
  getJobBlockers(
    options: { readonly id: TJobId } & TransactionOption<TTxContext>,
  ): Promise<readonly JobSequenceOf<TJobId, TDefs, ExternalJobTypeName<TDefs>>[]>;

  /** The jobs that were made to wait for a sequence, oldest first, whether they still wait or not. */
  listBlockedJobs(
    options: { readonly id: TJobId } & PageOptions & TransactionOption<TTxContext>,
  ): Promise<JobListing<JobOf<TJobId, TDefs, JobTypeName<TDefs>>>>;

  /** How many jobs there are of each queue, type and status; rows without any are left out. */
  countJobs<TTypeName extends JobTypeName<TDefs> = JobTypeName<TDefs>>(
    options?: JobFilterOptions<TDefs, TJobId, TTypeName> & TransactionOption<TTxContext>,
  ): Promise<readonly JobCountRow<TTypeName>[]>;

  /** Says why a job is not running, or what became of it. */
  explainJob(
    options: { readonly id: TJobId } & TransactionOption<TTxContext>,
  ): Promise<JobExplanation<TJobId>>;

  /** Defines a worker: add handlers with `implementJobType`, then `start` it. */
  createWorker(options?: WorkerDefinitionOptions): WorkerBuilder<TDefs, TTxContext, TJobId>;

  /** The present by the store's clock, the one that schedules, leases and timestamps go by. */
  getTime(options?: TransactionOption<TTxContext>): Promise<Date>;

  /**
   * Ends the use of this Leasehold: stops its workers as `stop` does, then sends the notifications that are still to be
   * sent. Calls that come later, and `waitFor…` calls that still wait, fail with `LeaseholdClosedError`. May be called
   * again.
   *
   * The adapters stay open, since others may share them: close those you created afterwards, and after them the pool or
   * the connection that you gave them.
   */
  close(options?: StopOptions): Promise<void>;

  /** `close`, for `await using leasehold = await createLeasehold(…)`. */
  [Symbol.asyncDispose](): Promise<void>;
}
