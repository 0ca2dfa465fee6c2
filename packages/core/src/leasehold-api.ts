/// <reference lib="esnext.disposable" preserve="true" />
import type { JobExplanation } from "./doctor/explain.ts";
import type {
  FailureCauseListing,
  GetStatisticsOptions,
  JobAttempt,
  JobStatistics,
  LeaseholdProcess,
  ListFailureCausesOptions,
} from "./history/api.ts";
import type { CompletedJobSequence, JobSequenceStatus } from "./job-types/entities.ts";
import type { JobTypeName } from "./job-types/markers.ts";
import type {
  ExternalJobTypeName,
  JobOf,
  JobSequenceOf,
  JobTypeNames,
  SequenceJobTypes,
} from "./job-types/navigation.ts";
import type { CompleteJobSequenceOptions } from "./jobs/api/complete.ts";
import type {
  CancelOptions,
  CancelReport,
  DeleteOptions,
  DeleteReport,
  PruneOptions,
  RedriveOptions,
  RedriveReport,
  UpdateOptions,
  UpdateReport,
  WaitOptions,
  WaitSettings,
} from "./jobs/api/operate.ts";
import type { JobFilterOptions } from "./jobs/filter.ts";
import type {
  JobCountRow,
  JobListing,
  JobSequenceListing,
  ListedJob,
  ListedJobSequence,
  ListJobSequencesOptions,
  ListJobsOptions,
  PageOptions,
} from "./jobs/api/query.ts";
import type {
  BulkStartOptions,
  StartArguments,
  StartedJobSequence,
  StartedJobSequences,
  TransactionOption,
} from "./jobs/api/start.ts";
import type {
  LimitState,
  GroupListing,
  ListGroupsOptions,
  PauseOptions,
  ResumeOptions,
  SetLimitsOptions,
} from "./limits/api.ts";
import type {
  ListRecurringJobsOptions,
  PreviewedTime,
  PreviewRecurringJobOptions,
  PutRecurringJobOptions,
  RecurringJob,
  RecurringJobListing,
  TriggeredRecurringJob,
  UpdateRecurringJobOptions,
} from "./recurring/api.ts";
import type { TransactionOptions } from "./store/contract/calls.ts";
import type { JobStatus } from "./store/contract/job.ts";
import type {
  AnyStateAdapter,
  GetStateAdapterJobId,
  GetStateAdapterTxContext,
} from "./store/contract/state-adapter.ts";
import type { LeaseholdTypes } from "./worker/job-handler-factory.ts";
import type { StopOptions, WorkerBuilder, WorkerDefinitionOptions } from "./worker/api.ts";

/**
 * What `createLeasehold` returns: it starts, waits for, reads and operates jobs, and creates workers. Its types come from
 * your job types and your state adapter.
 */
export type Leasehold<TDefs, TStateAdapter extends AnyStateAdapter> = LeaseholdApi<
  TDefs,
  GetStateAdapterTxContext<TStateAdapter>,
  GetStateAdapterJobId<TStateAdapter>
>;

/**
 * `Leasehold` by transaction context and id type instead of by adapter.
 *
 * To make a call part of a transaction, spread the transaction context in beside the options. Without it, a call inside the
 * callback of `runInTransaction`, `startBlockers`, `prepare` or `complete` belongs to that transaction. Everywhere else it is
 * a transaction of its own.
 */
export interface LeaseholdApi<TDefs, TTxContext, TJobId extends string> {
  /** Starts a job: the first of a new sequence. */
  startJobSequence<TTypeName extends JobTypeNames<TDefs>["external"]>(
    options: StartArguments<TDefs, TTxContext, TJobId, TTypeName>["startJobSequence"],
  ): Promise<StartedJobSequence<TJobId, TDefs, TTypeName>>;

  /** Starts many sequences, all or none. It is one store call, unless some of them have blockers. */
  startJobSequences<
    TItems extends readonly BulkStartOptions<TDefs, TTxContext, TJobId, JobTypeNames<TDefs>["external"]>[],
  >(
    options: { readonly sequences: readonly [...TItems] } & TransactionOption<TTxContext>,
  ): Promise<StartedJobSequences<TJobId, TDefs, TItems>>;

  /** Completes jobs of a sequence without a worker: for approvals, webhooks and the like. */
  completeJobSequence<TTypeName extends JobTypeNames<TDefs>["external"]>(
    options: CompleteJobSequenceOptions<TDefs, TTxContext, TJobId, TTypeName>,
  ): Promise<JobSequenceOf<TJobId, TDefs, TTypeName>>;

  /**
   * Waits until a sequence has completed. Rejects with `JobSequenceFailedError` as soon as it has failed, and with
   * `WaitForJobSequenceCompletionTimeoutError` when it takes too long. You can pass the sequence that `startJobSequence`
   * returned. `timeoutMs` and the other settings go beside its fields or into the second argument.
   */
  waitForJobSequenceCompletion<TTypeName extends JobTypeNames<TDefs>["external"]>(
    options: WaitOptions<TJobId, TTypeName>,
    settings?: WaitSettings,
  ): Promise<CompletedJobSequence<JobSequenceOf<TJobId, TDefs, TTypeName>>>;

  /** Deletes whole trees of sequences: named ones, or those of finished jobs that a filter finds. */
  deleteJobSequences(
    options: DeleteOptions<TDefs, TJobId> & TransactionOption<TTxContext>,
  ): Promise<DeleteReport<TJobId>>;

  /**
   * Runs the callback in a transaction and notifies workers once it has committed. With the `isolationLevel`
   * `repeatable read` or `serializable`, the callback runs again, up to 20 times in all, when the store rolls the transaction
   * back because of a conflict with another one.
   */
  runInTransaction<T>(callback: (ctx: TTxContext) => Promise<T>, options?: TransactionOptions): Promise<T>;

  /**
   * Put it around a transaction that you open yourself: it notifies workers once the callback has succeeded. Inside
   * `runInTransaction`, a callback of a handler or another `withNotify`, notifications and events are left to that: they
   * are published once, after its commit, and not at all if it rolls back.
   */
  withNotify<T>(callback: () => Promise<T>): Promise<T>;

  /** Defines a worker: add handlers with `implementJobType`, then call `start`. */
  createWorker(options?: WorkerDefinitionOptions): WorkerBuilder<TDefs, TTxContext, TJobId>;

  /** Reads and operates jobs. */
  readonly jobs: JobsApi<TDefs, TTxContext, TJobId>;

  /** Jobs that start again and again, by a cron expression or at an interval. */
  readonly recurring: RecurringApi<TDefs, TTxContext, TJobId>;

  /** Limits, rates, pauses and groups, over all workers. */
  readonly limits: LimitsApi<TDefs, TTxContext>;

  /** Past attempts, failure causes, processes and statistics. Needs a store with the part `history`. */
  readonly history: HistoryApi<TDefs, TTxContext, TJobId>;

  /** Reads the store's clock, which decides on schedules, leases and timestamps. */
  getTime(options?: TransactionOption<TTxContext>): Promise<Date>;

  /**
   * Stops the workers of this Leasehold, as `stop` does, and sends the notifications that are still waiting. Later calls,
   * and calls of `waitForJobSequenceCompletion` that still wait, fail with `LeaseholdClosedError`. Calling `close` again does no harm.
   *
   * The adapters stay open, since others may share them. Close those you created afterwards, and last the pool or
   * connection that you gave them.
   */
  close(options?: StopOptions): Promise<void>;

  /** `close`, for `await using leasehold = await createLeasehold(…)`. */
  [Symbol.asyncDispose](): Promise<void>;

  /** Exists in the types only: what `createJobHandlerFactory<typeof leasehold>()` and the like read. */
  readonly "~types"?: LeaseholdTypes<TDefs, TTxContext, TJobId>;
}

/** `leasehold.jobs` */
export interface JobsApi<TDefs, TTxContext, TJobId extends string> {
  /** Reads one job; undefined if there is none. With `typeName` it must be of that type. */
  get<TTypeName extends JobTypeName<TDefs> = JobTypeName<TDefs>>(
    options: {
      readonly id: TJobId;
      readonly typeName?: TTypeName | undefined;
    } & TransactionOption<TTxContext>,
  ): Promise<JobOf<TJobId, TDefs, TTypeName> | undefined>;

  /** Reads one page of jobs, typed by the `typeName` and `status` asked for. */
  list<TTypeName extends JobTypeName<TDefs> = JobTypeName<TDefs>, TStatus extends JobStatus = JobStatus>(
    options?: ListJobsOptions<TDefs, TJobId, TTypeName, TStatus> & TransactionOption<TTxContext>,
  ): Promise<JobListing<ListedJob<TDefs, TJobId, TTypeName, TStatus>>>;

  /** Counts jobs by queue, type and status. Counts of zero are left out. */
  count<TTypeName extends JobTypeName<TDefs> = JobTypeName<TDefs>>(
    options?: JobFilterOptions<TDefs, TJobId, TTypeName> & TransactionOption<TTxContext>,
  ): Promise<readonly JobCountRow<TTypeName>[]>;

  /** Answers "why is this job not running?", or says what became of it. */
  explain(options: { readonly id: TJobId } & TransactionOption<TTxContext>): Promise<JobExplanation<TJobId>>;

  /** Reads one sequence; undefined if there is none. With `typeName` it must be of that type. */
  getSequence<TTypeName extends ExternalJobTypeName<TDefs> = ExternalJobTypeName<TDefs>>(
    options: {
      readonly id: TJobId;
      readonly typeName?: TTypeName | undefined;
    } & TransactionOption<TTxContext>,
  ): Promise<JobSequenceOf<TJobId, TDefs, TTypeName> | undefined>;

  /** Reads one page of sequences, typed by the `typeName` and `status` asked for. */
  listSequences<
    TTypeName extends ExternalJobTypeName<TDefs> = ExternalJobTypeName<TDefs>,
    TStatus extends JobSequenceStatus = JobSequenceStatus,
  >(
    options?: ListJobSequencesOptions<TDefs, TJobId, TTypeName, TStatus> & TransactionOption<TTxContext>,
  ): Promise<JobSequenceListing<ListedJobSequence<TDefs, TJobId, TTypeName, TStatus>>>;

  /** Reads one page of the jobs of a sequence, in the order they ran. With `typeName` the sequence must be of that type. */
  listInSequence<TTypeName extends ExternalJobTypeName<TDefs> = ExternalJobTypeName<TDefs>>(
    options: { readonly id: TJobId; readonly typeName?: TTypeName | undefined } & PageOptions &
      TransactionOption<TTxContext>,
  ): Promise<JobListing<JobOf<TJobId, TDefs, SequenceJobTypes<TDefs, TTypeName>, TTypeName>>>;

  /**
   * Reads the sequences that a job waits for, or waited for, in the order of `startBlockers`. With `typeName` the job must be
   * of that type.
   */
  listBlockers(
    options: {
      readonly id: TJobId;
      readonly typeName?: JobTypeName<TDefs> | undefined;
    } & TransactionOption<TTxContext>,
  ): Promise<readonly JobSequenceOf<TJobId, TDefs, ExternalJobTypeName<TDefs>>[]>;

  /**
   * Reads one page of the jobs that wait for a sequence, or waited for it, oldest first. With `typeName` the sequence must be
   * of that type.
   */
  listBlocked(
    options: {
      readonly id: TJobId;
      readonly typeName?: ExternalJobTypeName<TDefs> | undefined;
    } & PageOptions &
      TransactionOption<TTxContext>,
  ): Promise<JobListing<JobOf<TJobId, TDefs, JobTypeName<TDefs>>>>;

  /** Ends sequences early: the current job fails with `cancelled`, and its handler is aborted if it runs. */
  cancel(
    options: CancelOptions<TDefs, TJobId> & TransactionOption<TTxContext>,
  ): Promise<CancelReport<TJobId>>;

  /** Runs failed jobs again, by id or by filter, together with the jobs that failed because of them. */
  redrive(
    options: RedriveOptions<TDefs, TJobId> & TransactionOption<TTxContext>,
  ): Promise<RedriveReport<TJobId>>;

  /**
   * Changes jobs that wait, by id or by filter: when they run, their priority, their input. A job that runs or has finished
   * is left as it is.
   */
  update<TTypeName extends JobTypeName<TDefs> = JobTypeName<TDefs>>(
    options: UpdateOptions<TDefs, TJobId, TTypeName> & TransactionOption<TTxContext>,
  ): Promise<UpdateReport<TJobId>>;

  /** Deletes trees that finished long ago, in batches, each in a transaction of its own. */
  prune(options: PruneOptions): Promise<{ readonly deletedJobs: number }>;
}

/** `leasehold.recurring` */
export interface RecurringApi<TDefs, TTxContext, TJobId extends string> {
  /**
   * Creates or changes a recurring job: one that starts jobs again and again, by a cron expression or at an interval. Putting the
   * same again changes nothing. If its times have changed, they count from now on.
   */
  put<TTypeName extends JobTypeNames<TDefs>["external"]>(
    options: PutRecurringJobOptions<TDefs, TTypeName> & TransactionOption<TTxContext>,
  ): Promise<RecurringJob<TJobId>>;

  /**
   * Changes what is named of a recurring job and leaves the rest. If its times change, they count from now on. A program that
   * declares the job in `recurringJobs` puts its own definition back when it starts.
   */
  update(options: UpdateRecurringJobOptions & TransactionOption<TTxContext>): Promise<RecurringJob<TJobId>>;

  /** Stops a recurring job from starting jobs. Jobs that it has started continue. */
  pause(
    options: {
      readonly id: string;
      /** As for `put`. */
      readonly expectedVersion?: number | undefined;
    } & TransactionOption<TTxContext>,
  ): Promise<RecurringJob<TJobId>>;

  /** Lets a paused recurring job go on with its next time. What fell due meanwhile is not made up for. */
  resume: RecurringApi<TDefs, TTxContext, TJobId>["pause"];

  /** Deletes a recurring job, and says whether it was there. The jobs that it has started stay. */
  delete(
    options: { readonly id: string } & TransactionOption<TTxContext>,
  ): Promise<{ readonly deleted: boolean }>;

  /** Starts a job of a recurring job now, by its `overlap` policy, paused or not. Its regular times stay as they are. */
  trigger(
    options: { readonly id: string } & TransactionOption<TTxContext>,
  ): Promise<TriggeredRecurringJob<TJobId>>;

  /** Reads one recurring job; undefined if there is none. */
  get(
    options: { readonly id: string } & TransactionOption<TTxContext>,
  ): Promise<RecurringJob<TJobId> | undefined>;

  /** Reads one page of recurring jobs, in the order of their ids. */
  list(
    options?: ListRecurringJobsOptions & TransactionOption<TTxContext>,
  ): Promise<RecurringJobListing<TJobId>>;

  /** Says when a recurring job would come, or will. Writes nothing. */
  preview(
    options: PreviewRecurringJobOptions & TransactionOption<TTxContext>,
  ): Promise<readonly PreviewedTime[]>;
}

/** `leasehold.limits` */
export interface LimitsApi<TDefs, TTxContext> {
  /**
   * Sets limits for a queue or a job type, over all workers: how many jobs run at once, how many start in a time, the same
   * for each group, turns, pauses. Changes what is named and leaves the rest; null removes. Takes effect at once and
   * interrupts nothing.
   */
  set(options: SetLimitsOptions<JobTypeName<TDefs>> & TransactionOption<TTxContext>): Promise<LimitState>;

  /** Starts no more jobs of a queue or type, in any process. What runs goes on, and jobs can still be added. */
  pause(options: PauseOptions<JobTypeName<TDefs>> & TransactionOption<TTxContext>): Promise<LimitState>;

  /** Ends a pause; with `group`, that of a group, also if the group stopped at a failed job. */
  resume(options: ResumeOptions<JobTypeName<TDefs>> & TransactionOption<TTxContext>): Promise<LimitState>;

  /** Reads the rules, of all queues or of one, and how much of them is in use. */
  list(
    options?: { readonly queue?: string | undefined } & TransactionOption<TTxContext>,
  ): Promise<readonly LimitState[]>;

  /** Reads one page of the groups of a type that have waiting or running jobs. */
  listGroups(
    options: ListGroupsOptions<JobTypeName<TDefs>> & TransactionOption<TTxContext>,
  ): Promise<GroupListing>;
}

/** `leasehold.history` */
export interface HistoryApi<TDefs, TTxContext, TJobId extends string> {
  /**
   * Reads the attempts of a job that have ended, the latest first: the one that completed it, and up to 20 of the others. Needs a
   * store with the part `history`.
   */
  listAttempts(
    options: { readonly id: TJobId } & TransactionOption<TTxContext>,
  ): Promise<readonly JobAttempt[]>;

  /** Reads what failed jobs have failed from: jobs whose errors are of the same kind are one cause. */
  listCauses(
    options?: ListFailureCausesOptions<JobTypeName<TDefs>> & TransactionOption<TTxContext>,
  ): Promise<FailureCauseListing<TJobId>>;

  /** Reads the processes that have started jobs or workers, with their workers: those alive, and those silent for up to a day. */
  listProcesses(options?: TransactionOption<TTxContext>): Promise<readonly LeaseholdProcess[]>;

  /**
   * Reads what all processes have counted, by queue and type: jobs created, completed and failed, and how long they waited and
   * ran. A process reports about once a second, and the past is kept for 90 days. With `byType: false`, all types of a queue
   * are counted together.
   */
  getStatistics(
    options: GetStatisticsOptions<JobTypeName<TDefs>> & {
      readonly byType: false;
    } & TransactionOption<TTxContext>,
  ): Promise<readonly JobStatistics<null>[]>;
  getStatistics<TTypeName extends JobTypeName<TDefs> = JobTypeName<TDefs>>(
    options: GetStatisticsOptions<TTypeName> & {
      readonly byType?: true | undefined;
    } & TransactionOption<TTxContext>,
  ): Promise<readonly JobStatistics<TTypeName>[]>;
}
