import type { PagePosition } from "../model/cursor.ts";
import type { IsolationLevel } from "../model/isolation-levels.ts";
import type {
  FailureReason,
  JobReference,
  JobStatus,
  OnBlockerFailure,
  StateJob,
  StateSequence,
} from "../model/job.ts";
import type { Schedule } from "../model/schedule.ts";

/** What a provider hands to user code as its database handle; its shape is the provider's own. */
export type BaseStateAdapterContext = object;

/** Every method takes these two. */
export interface StateCall<TTxContext> {
  /** Run inside this open transaction. Without it the call is a transaction of its own. */
  readonly ctx?: TTxContext | undefined;
  /** Stands in for the store's clock, for tests and simulations. */
  readonly now?: number | undefined;
}

/** A call that only makes sense inside a transaction. */
export interface StateCallInTransaction<TTxContext> extends StateCall<TTxContext> {
  readonly ctx: TTxContext;
}

export interface NewJob {
  readonly id: string;
  readonly typeName: string;
  readonly sequenceId: string;
  readonly sequenceTypeName: string;
  readonly sequenceIndex: number;
  /** As the first job of the sequence has it; null for that one itself. */
  readonly sequenceCreatedAt: number | null;
  readonly rootSequenceId: string;
  readonly originId: string | null;
  readonly traceContext: string | null;
  readonly queue: string;
  readonly priority: number;
  readonly input: string;
  readonly schedule: Schedule;
  readonly maxAttempts: number;
  /** False when `maxAttempts` is only a default; then `MaxAttempts` of a later call override it. True if left out. */
  readonly maxAttemptsGiven?: boolean;
  readonly timeoutMs: number | null;
  readonly leaseMs: number | null;
  readonly onBlockerFailure: OnBlockerFailure;
  /** Start as `blocked`: `addJobBlockers` follows in the same transaction. */
  readonly awaitsBlockers: boolean;
  readonly deduplication: NewJobDeduplication | null;
}

export interface NewJobDeduplication {
  readonly key: string;
  /** `completed`: only unfinished sequences count as duplicates. `all`: finished ones too. */
  readonly strategy: "completed" | "all";
  /** Only sequences created within this time count; null for no limit. */
  readonly windowMs: number | null;
}

export interface CreatedStateJob {
  /** The job as stored; with `deduplicated`, the first job of the sequence that was there before. */
  readonly job: StateJob;
  readonly deduplicated: boolean;
}

/**
 * How many attempts jobs have, by type, where nobody has said so for the job itself (`maxAttemptsGiven` is false). Only
 * own properties count. It decides what becomes of a job whose lease has run out.
 */
export type MaxAttempts = Readonly<Record<string, number>>;

/** Some jobs of one queue. */
export interface ClaimRequest {
  readonly queue: string;
  /** Only these types; null for every type. */
  readonly typeNames: readonly string[] | null;
  readonly limit: number;
}

export interface HeldLease {
  readonly jobId: string;
  readonly leaseToken: string;
}

/** Why a lease-holder's call changed nothing. `status` and `failureReason` are the job's own at that moment. */
export interface LeaseRefusal {
  readonly kind: "refused";
  readonly reason: "not_found" | "not_running" | "lease_mismatch" | "lease_expired";
  readonly status: JobStatus | null;
  readonly failureReason: FailureReason | null;
}

export type RenewalResult =
  | { readonly kind: "renewed"; readonly leasedUntil: number }
  /** Another transaction holds the row right now; the lease is as it was. */
  | { readonly kind: "busy" }
  | LeaseRefusal;

export type LockResult = { readonly kind: "locked" } | LeaseRefusal;

interface OutcomeBase {
  readonly jobId: string;
  /** The token of the lease under which the attempt ran; null for workerless completion. */
  readonly leaseToken: string | null;
  /**
   * This transaction has locked the job (`lockJob`, `lockSequence`), so the lease is not checked for expiry again: the
   * row lock protects it until commit.
   */
  readonly locked?: boolean;
}

export type JobOutcome = OutcomeBase &
  (
    | {
        readonly kind: "complete";
        readonly output: string | null;
        /** The continuation, already created in this transaction. */
        readonly continuedToId: string | null;
        readonly completedBy: string | null;
      }
    /** Back to pending; the attempt counts. */
    | { readonly kind: "retry"; readonly schedule: Schedule; readonly error: string | null }
    /**
     * Back to pending as if the attempt had not been: `attempt` falls by one. No schedule keeps `scheduledAt`, and with
     * it the place in line.
     */
    | { readonly kind: "release"; readonly schedule: Schedule | null; readonly error: string | null }
    | { readonly kind: "fail"; readonly reason: FailureReason; readonly error: string | null }
  );

export type OutcomeResult =
  | {
      readonly kind: "applied";
      /** The store's time of the change. */
      readonly at: number;
      /** Jobs that this made pending. */
      readonly unblocked: readonly JobReference[];
      /** Jobs that failed because this one did. */
      readonly cascaded: readonly JobReference[];
    }
  /** This very outcome had been applied before; nothing changed. */
  | { readonly kind: "repeated" }
  | LeaseRefusal;

export interface ReapedJob {
  /** The job after reaping: pending, or failed where its attempts are used up. */
  readonly job: StateJob;
  readonly previouslyLeasedBy: string | null;
  readonly cascaded: readonly JobReference[];
}

export interface CancelResult {
  readonly sequenceId: string;
  readonly kind: "cancelled" | "already_completed" | "already_failed" | "not_found";
  /** The job that was current, as it now is; null when not found. */
  readonly job: StateJob | null;
  /** Whether this call did it: false for a sequence that was cancelled before. */
  readonly changed: boolean;
  readonly wasRunning: boolean;
  readonly cascaded: readonly JobReference[];
}

export interface RedriveResult {
  readonly jobId: string;
  /**
   * `blocker_failed`: a sequence it waits for is still failed; redrive that one. `blocker_cycle`: a sequence it waits
   * for has come to wait for its own. `duplicate_live`: an unfinished sequence of the same deduplication key has been
   * started since.
   */
  readonly kind:
    | "redriven"
    | "not_found"
    | "not_failed"
    | "blocker_failed"
    | "blocker_cycle"
    | "duplicate_live";
  readonly job: StateJob | null;
  /** Jobs that had failed because of this one, and are alive again. */
  readonly revived: readonly JobReference[];
}

export interface DeletionResult {
  readonly deleted: readonly (JobReference & { readonly status: JobStatus })[];
  /** Given ids that are no root. If there are any, nothing was deleted. */
  readonly notRoots: readonly string[];
  /** Roots outside the set whose jobs are blocked by sequences in it. If there are any, nothing was deleted. */
  readonly dependantRootSequenceIds: readonly string[];
}

/** How long finished trees are kept, by the type of their root sequence. */
export interface PruneRule {
  /** The types it is for; null for all that no other rule names. */
  readonly sequenceTypeNames: readonly string[] | null;
  /** Completed sequences must have finished before this moment; null keeps trees with completed sequences. */
  readonly completedBefore: number | null;
  /** Likewise for failed ones. */
  readonly failedBefore: number | null;
}

export interface PruneResult {
  readonly deletedJobs: number;
  /** Those of them that had failed. */
  readonly failedJobs: readonly JobReference[];
  /** Where the pass goes on, in the store's own words; null at its end. */
  readonly next: string | null;
}

export interface JobFilter {
  readonly ids?: readonly string[] | undefined;
  readonly statuses?: readonly JobStatus[] | undefined;
  readonly queues?: readonly string[] | undefined;
  readonly typeNames?: readonly string[] | undefined;
  readonly sequenceTypeNames?: readonly string[] | undefined;
  /** Continuations have none. Together with `sequenceTypeNames` it must lead straight to the jobs. */
  readonly deduplicationKeys?: readonly string[] | undefined;
  readonly sequenceId?: string | undefined;
  readonly rootSequenceId?: string | undefined;
  readonly failureReasons?: readonly FailureReason[] | undefined;
  /** The text of the input contains this, letter for letter. It need not be faster than a look at every job. */
  readonly inputContains?: string | undefined;
  /** From this moment on. */
  readonly createdFrom?: number | undefined;
  /** Up to, not including, this moment. */
  readonly createdBefore?: number | undefined;
  /** `completedAt` or `failedAt`. */
  readonly finishedFrom?: number | undefined;
  readonly finishedBefore?: number | undefined;
}

/** Pages neither repeat nor skip a job that was there when the listing began. */
export interface JobPage {
  /** Fewer than asked for, or none, where the store has looked at as many jobs as it may at a time. */
  readonly jobs: readonly StateJob[];
  /** Where to go on; null only when there are no more. */
  readonly next: PagePosition | null;
}

export interface JobCount {
  readonly queue: string;
  readonly typeName: string;
  readonly status: JobStatus;
  readonly count: number;
}

export interface TransactionOptions {
  /**
   * How the transaction is kept apart from others. Left out, it is the store's usual level: `read committed` in
   * PostgreSQL, whatever the default of the role; SQLite and the in-process store know only `serializable`.
   */
  readonly isolationLevel?: IsolationLevel | undefined;
}

/** The jobs of one type in one queue that have not completed. Each number is counted up to a cap. */
export interface LaneBacklog {
  readonly queue: string;
  readonly typeName: string;
  /** Pending, and their time has come. */
  readonly runnable: number;
  /** Pending, and scheduled for later. */
  readonly later: number;
  readonly running: number;
  /** Of the running ones, those whose lease has run out. */
  readonly expired: number;
  readonly blocked: number;
  readonly failed: number;
  /** Since when the job that has waited longest could have been running; null where none is runnable. */
  readonly oldestRunnableAt: number | null;
}

/** One that finished lately, for rates and latencies. */
export interface RecentlyFinishedJob {
  readonly queue: string;
  readonly typeName: string;
  readonly status: "completed" | "failed";
  readonly createdAt: number;
  readonly finishedAt: number;
}

/**
 * What a store can do that another cannot. Core asks here; it never probes for methods.
 */
export interface StateAdapterCapabilities {
  /** The levels that `runInTransaction` can be asked for. A store may give more than was asked for, never less. */
  readonly isolationLevels: readonly IsolationLevel[];
  /** `runInTransaction` nests: an inner one that fails undoes only itself. */
  readonly savepoints: boolean;
}

/**
 * The seam between Leasehold and a database. Core owns meaning, the adapter owns atomicity: each method is one atomic
 * transition or one read, returns facts, and never decides on a retry, notifies or traces.
 *
 * For every method:
 * - it takes effect completely or not at all, and a rejected promise from inside a transaction spoils that transaction;
 * - time is `now` if given, else the store's own clock, the same one for every worker;
 * - a schedule in the past means now: `scheduledAt` is also a place in line;
 * - results of batch methods stand in the order of what was passed;
 * - rows are locked in the order of their ids, so that overlapping batches never deadlock;
 * - after `close` it throws `AdapterClosedError`.
 */
export interface StateAdapter<
  TTxContext extends BaseStateAdapterContext = BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext = BaseStateAdapterContext,
  TJobId extends string = string,
> {
  readonly capabilities: StateAdapterCapabilities;

  /** Never called: carries the id type for `GetStateAdapterJobId`. */
  readonly jobIdType?: TJobId;

  /** Makes the ids of new jobs, where the adapter was given a way to. `createLeasehold({ createId })` overrides it. */
  readonly idGenerator?: (() => TJobId) | undefined;

  /** Lends a context outside any transaction, for what cannot run inside one. */
  provideContext<T>(callback: (ctx: TContext) => Promise<T>): Promise<T>;

  /**
   * Commits when the callback resolves, rolls back when it rejects, and passes the rejection on. With `parent`, a
   * savepoint inside that transaction (see `capabilities.savepoints`; without them the callback simply runs in it); that
   * one's isolation level cannot be changed, so `options` come without a parent only.
   */
  runInTransaction<T>(
    callback: (ctx: TTxContext) => Promise<T>,
    parent?: TTxContext,
    options?: TransactionOptions,
  ): Promise<T>;

  /** Whether `ctx` is a context of this adapter in an open transaction. Must answer false for anything else, never throw. */
  isInTransaction(ctx: unknown): Promise<boolean>;

  /** Whether the same call may succeed if it is made again: a lost connection, a deadlock, a server starting up. */
  isTransientError(error: unknown): boolean;

  /**
   * Whether the store has rolled the transaction back for the sake of others: a deadlock, a serialisation failure. Nothing
   * of it was committed, for certain, and it may succeed if it is run again. Never true of a lost connection.
   */
  isRolledBackForOthers(error: unknown): boolean;

  /** The store's clock. */
  getTime(call?: StateCall<TTxContext>): Promise<number>;

  /**
   * Stores all jobs or none. An id that exists already is `JobAlreadyExistsError` with all such ids.
   *
   * Deduplication looks at sequences of the same type and key, and sees the earlier jobs of the same call. Calls with
   * the same key are serialised by the store: of any number of concurrent ones exactly one creates.
   */
  createJobs(call: StateCall<TTxContext> & { readonly jobs: readonly NewJob[] }): Promise<CreatedStateJob[]>;

  /**
   * Gives a job created with `awaitsBlockers` the sequences it waits for, and decides its status: `pending` when all
   * have completed, `failed` (`blocker_failed`) when one has failed and the job does not wait regardless, else
   * `blocked`. Locks the current job of each sequence, so that none finishes unseen meanwhile.
   *
   * Throws `JobNotFoundError` for a sequence that does not exist and `BlockerCycleError` when a blocker, directly or
   * through the open blockers of blocked jobs, waits for this job's sequence.
   */
  addJobBlockers(
    call: StateCallInTransaction<TTxContext> & {
      readonly jobId: string;
      readonly blockerSequenceIds: readonly string[];
    },
  ): Promise<StateJob>;

  /**
   * Takes runnable jobs: at most `limit` in all and at most `request.limit` for each request. Runnable is a pending job
   * whose `scheduledAt` has come, or a running one whose lease has run out and that has attempts left; the latter
   * becomes scheduled for the moment its lease ended, and its `expiredLeases` rises.
   *
   * Within a request: higher `priority` first, then earlier `scheduledAt`, then order of creation. Each job taken gets
   * `leaseToken`, `leaseVersion` + 1, `attempt` + 1, `leasedBy`, and a lease of its own `leaseMs` or else the call's.
   *
   * Never waits: a job that another transaction has locked is skipped. With `retried`, an earlier call with this token
   * may have been applied although its answer was lost; the jobs held by the token are then returned first and count
   * against the limits.
   *
   * A job taken from a lease that ran out has its `lastFailedAt` there. `maxAttempts` overrides defaults in deciding
   * whether such a job has attempts left; so it does in `nextRunnableIn` and `reapExpiredLeases`.
   */
  claimJobs(
    call: StateCall<TTxContext> & {
      readonly workerId: string;
      readonly leaseToken: string;
      readonly leaseMs: number;
      readonly requests: readonly ClaimRequest[];
      readonly limit: number;
      readonly retried?: boolean;
      readonly maxAttempts?: MaxAttempts | undefined;
    },
  ): Promise<StateJob[]>;

  /**
   * How many milliseconds until `claimJobs` with these requests could next find a job, by scheduled time or by the end
   * of a lease: 0 when there is one now, null when there is none in sight. A hint; not exact under concurrency.
   */
  nextRunnableIn(
    call: StateCall<TTxContext> & {
      readonly requests: readonly Omit<ClaimRequest, "limit">[];
      readonly maxAttempts?: MaxAttempts | undefined;
    },
  ): Promise<number | null>;

  /**
   * Extends leases, each checked by itself: the job runs, the token is current, the lease has not run out. Stores
   * `progress` where given. Never waits for a row another transaction holds: that one is `busy`.
   */
  renewLeases(
    call: StateCall<TTxContext> & {
      readonly leases: readonly (HeldLease & {
        readonly leaseMs: number;
        readonly progress?: string | undefined;
      })[];
    },
  ): Promise<RenewalResult[]>;

  /** Checks the lease and locks the job until the transaction ends; no other call can then change it. */
  lockJob(call: StateCallInTransaction<TTxContext> & HeldLease): Promise<LockResult>;

  /** Locks the current job of a sequence, whatever its status; undefined when there is no such sequence. */
  lockSequence(
    call: StateCallInTransaction<TTxContext> & { readonly sequenceId: string },
  ): Promise<StateSequence | undefined>;

  /**
   * Records how attempts ended, each fenced by itself: job running, token current, lease not run out (or locked by this
   * transaction). A null token is workerless: any status that is not terminal will do. A refused outcome changes
   * nothing and does not touch the others. A job still carries the token under which it ended afterwards, so the same
   * outcome again is `repeated`. An end its holder did not report (workerless completion, cancel, reap) clears the
   * token, so that what the holder reports later is refused.
   *
   * In the same atomic step: when a sequence completes (its job completes without continuation), the jobs it blocked
   * have one open blocker less and become pending at none, scheduled for now unless for later. When a sequence fails, blocked jobs that do not wait
   * regardless fail with `blocker_failed` and the error of `blockerErrorText`, and so on through theirs. A retry or a failure ends a run of
   * `expiredLeases` and sets `lastFailedAt`; a release keeps both.
   */
  commitOutcomes(
    call: StateCall<TTxContext> & { readonly outcomes: readonly JobOutcome[] },
  ): Promise<OutcomeResult[]>;

  /**
   * Takes up to `limit` running jobs whose lease has run out: back to pending as if scheduled for the moment the lease
   * ended, or to failed (`attempts_exhausted`, with `error`, and cascading) where no attempt is left. The end of the
   * lease becomes `lastFailedAt`. Skips locked rows and never stops at them.
   */
  reapExpiredLeases(
    call: StateCall<TTxContext> & {
      readonly limit: number;
      readonly error: string;
      readonly maxAttempts?: MaxAttempts | undefined;
    },
  ): Promise<ReapedJob[]>;

  /**
   * Fails the current job of each sequence with `cancelled`, whether blocked, pending or running; a running one loses
   * its lease at once. A sequence that was cancelled before is `cancelled` again, and not `changed`.
   */
  cancelSequences(
    call: StateCall<TTxContext> & { readonly sequenceIds: readonly string[]; readonly error: string },
  ): Promise<CancelResult[]>;

  /**
   * Revives failed jobs: pending, or blocked while blockers are open; runnable now, or when they were scheduled for if
   * that is still to come. `attempt` and `expiredLeases` start again at 0, `leaseVersion` goes on. Jobs that failed because of theirs, and of nothing else that is still
   * failed, return to blocked.
   */
  redriveJobs(
    call: StateCall<TTxContext> & {
      readonly jobIds: readonly string[];
      /** None of them runs before. Absent: now. */
      readonly schedule?: Schedule | undefined;
    },
  ): Promise<RedriveResult[]>;

  /** Removes whole trees of sequences. See `DeletionResult` for what prevents it. Ids that do not exist are ignored. */
  deleteSequences(
    call: StateCall<TTxContext> & { readonly rootSequenceIds: readonly string[] },
  ): Promise<DeletionResult>;

  /**
   * Removes up to `limit` trees whose every sequence finished before the moment that their rule gives for how it ended,
   * and on which no tree that stays depends. Looks at a bounded number of jobs, however many there are: to go through
   * all of them is a pass of several calls, each with the `next` of the one before as `after`.
   *
   * A pass meets every tree that could go when it began, except one that was needed by a tree it removed later, or that
   * another transaction had locked: locked jobs are skipped, never waited for. With `alone`, does nothing and answers
   * null while another call with `alone` is pruning the same store.
   */
  pruneSequences(
    call: StateCall<TTxContext> & {
      readonly rules: readonly PruneRule[];
      readonly limit: number;
      readonly after: string | null;
      readonly alone?: boolean;
    },
  ): Promise<PruneResult | null>;

  getJobs(
    call: StateCall<TTxContext> & { readonly jobIds: readonly string[] },
  ): Promise<(StateJob | undefined)[]>;

  getSequences(
    call: StateCall<TTxContext> & { readonly sequenceIds: readonly string[] },
  ): Promise<(StateSequence | undefined)[]>;

  /**
   * By `createdAt`, then id. Where all ids are UUIDs of version 7, which are ordered by time, a store may go by the id
   * alone: jobs then stand in the order in which their ids were made. Looks at a bounded number of jobs.
   */
  listJobs(
    call: StateCall<TTxContext> & {
      readonly filter: JobFilter;
      readonly order: "oldest" | "newest";
      readonly limit: number;
      readonly after: PagePosition | null;
    },
  ): Promise<JobPage>;

  /** For each job the sequences it was given as blockers, in the order given. */
  getBlockers(
    call: StateCall<TTxContext> & { readonly jobIds: readonly string[] },
  ): Promise<StateSequence[][]>;

  /** Jobs that have this sequence among their blockers, finished or not; oldest first. */
  listBlockedJobs(
    call: StateCall<TTxContext> & {
      readonly sequenceId: string;
      readonly limit: number;
      readonly after: PagePosition | null;
    },
  ): Promise<JobPage>;

  /** Exact, and so as slow as there are jobs to count. */
  countJobs(call: StateCall<TTxContext> & { readonly filter: JobFilter }): Promise<JobCount[]>;

  /**
   * The jobs that have not completed, by queue and type. Reads a bounded number of jobs per lane, however many there
   * are: a number that equals `cap` means that many or more. Of running and of failed jobs it looks at no more than ten
   * times `cap` in all, the failed ones that were created last. Lanes whose jobs have all completed are absent.
   */
  measureBacklog(call: StateCall<TTxContext> & { readonly cap: number }): Promise<LaneBacklog[]>;

  /**
   * Up to `limit` of the jobs that finished at `from` or later, the latest first. A sample: where finding all of them
   * would mean to search, some are missing.
   */
  listRecentlyFinished(
    call: StateCall<TTxContext> & { readonly from: number; readonly limit: number },
  ): Promise<RecentlyFinishedJob[]>;

  /** How many jobs of its queue would be claimed before this pending one; null when it is not pending. */
  countAhead(call: StateCall<TTxContext> & { readonly jobId: string }): Promise<number | null>;

  /** Ends the use of the store. Idempotent. */
  close(): Promise<void>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- only `any` matches adapters of every context type
export type AnyStateAdapter = StateAdapter<any, any, any>;

export type GetStateAdapterTxContext<TStateAdapter> =
  TStateAdapter extends StateAdapter<infer TTxContext, infer _TContext, infer _TJobId> ? TTxContext : never;

export type GetStateAdapterContext<TStateAdapter> =
  TStateAdapter extends StateAdapter<infer _TTxContext, infer TContext, infer _TJobId> ? TContext : never;

export type GetStateAdapterJobId<TStateAdapter> =
  TStateAdapter extends StateAdapter<infer _TTxContext, infer _TContext, infer TJobId> ? TJobId : never;
