import type { StateCall, StateCallInTransaction } from "./calls.ts";
import type { FailureReason, JobReference, JobStatus, StateJob, StateSequence } from "./job.ts";

/**
 * How many attempts jobs have, by type, where the job itself does not say (`maxAttemptsGiven` is false). Only own
 * properties count. Decides what happens to a job whose lease has expired.
 */
export type MaxAttempts = Readonly<Record<string, number>>;

/** Where to look for jobs. */
export interface ClaimScope {
  readonly queue: string;
  /** Only these types; null for every type. */
  readonly typeNames: readonly string[] | null;
}

export interface ClaimRequest extends ClaimScope {
  readonly limit: number;
}

/** The arguments of `claimJobs`. */
export interface ClaimCall {
  readonly workerId: string;
  readonly leaseToken: string;
  readonly leaseMs: number;
  /** Stored with each job; see `StateJob`. Default: null. */
  readonly deployment?: string | null | undefined;
  readonly requests: readonly ClaimRequest[];
  readonly limit: number;
  /** An earlier call with this token may have been applied although its answer was lost. */
  readonly isRepeat?: boolean;
  readonly maxAttempts?: MaxAttempts | undefined;
}

/** The arguments for the time at which something can be claimed next. */
export interface NextRunnableCall {
  readonly requests: readonly ClaimScope[];
  readonly maxAttempts?: MaxAttempts | undefined;
}

/** The arguments for the number of jobs that are claimed before another. */
export interface CountAheadCall {
  readonly jobId: string;
  /** Counting ends here: the answer is this number for as many jobs or more. */
  readonly cap: number;
  /** Counts only jobs of these types; default: all. */
  readonly typeNames?: readonly string[] | undefined;
  /** Leaves these types out; default: none. */
  readonly exceptTypeNames?: readonly string[] | undefined;
}

/**
 * What can run, and who runs it. The three methods must agree on which jobs are *runnable*:
 * - a pending job whose `scheduledAt` has come;
 * - a running job whose lease has expired and that has attempts left. It counts as scheduled for the moment its lease
 *   ended. `maxAttempts` of the call overrides defaults in deciding whether attempts are left.
 */
export interface Claims<TTxContext> {
  /**
   * Takes runnable jobs: at most `limit` in all and at most `request.limit` for each request.
   *
   * Within a request: higher `priority` first, then earlier `scheduledAt`, then order of creation. Each job taken gets
   * `leaseToken`, `leasedBy`, `leaseVersion` + 1, `attempt` + 1, and a lease of its own `leaseMs` or else the call's. A
   * job taken from an expired lease also gets `expiredLeases` + 1, and the end of that lease as `scheduledAt` and
   * `lastFailedAt`. With the part `history`, that lease is an attempt that `expired`.
   *
   * Never waits: a job that another transaction has locked is skipped. With `isRepeat`, the jobs that the token already
   * holds are returned first and count against the limits.
   */
  claimJobs(call: StateCall<TTxContext> & ClaimCall): Promise<StateJob[]>;

  /**
   * How many milliseconds until `claimJobs` with these requests can find a job: 0 when it can now, null when no job is
   * in sight. Agrees with `claimJobs` without concurrent calls; with them it is only a hint.
   */
  nextRunnableIn(call: StateCall<TTxContext> & NextRunnableCall): Promise<number | null>;

  /**
   * How many jobs of its queue would be claimed before this pending one; null when it is not pending. Of a job with a group,
   * how many of its line; of one without, how many of those without. It is not to read much more than `cap` of those ahead.
   */
  countAhead(call: StateCall<TTxContext> & CountAheadCall): Promise<number | null>;
}

/** A lease on a job, as its holder names it. */
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

/** A lease to be extended. */
export interface LeaseRenewal extends HeldLease {
  readonly leaseMs: number;
  /** Stored with the job, where given. */
  readonly progress?: string | undefined;
  /**
   * The last attempt of a job with expired leases begins. Stored as `attempt`, and `expiredLeases` becomes negative: from now on
   * an expired lease counts against the job.
   */
  readonly lastAttempt?: number | undefined;
}

/** Whether a lease was extended. */
export type RenewalResult =
  | { readonly kind: "renewed"; readonly leasedUntil: number }
  /** Another transaction holds the row right now. The lease is as it was. */
  | { readonly kind: "busy" }
  | LeaseRefusal;

/** Whether a job was locked for its holder. */
export type LockResult = { readonly kind: "locked" } | LeaseRefusal;

/** A job whose lease had expired, after it was taken back. */
export interface ReapedJob {
  /** The job after reaping: pending, or failed where its attempts are used up. */
  readonly job: StateJob;
  readonly previouslyLeasedBy: string | null;
  readonly cascaded: readonly JobReference[];
}

/** The arguments of `renewLeases`. */
export interface RenewLeasesCall {
  readonly leases: readonly LeaseRenewal[];
}

/** The arguments for locking jobs under their leases. */
export interface LockHeldJobsCall {
  readonly leases: readonly HeldLease[];
}

/** The arguments for locking a sequence. */
export interface LockSequenceCall {
  readonly sequenceId: string;
}

/** The arguments for taking back jobs whose leases have expired. */
export interface ReapCall {
  readonly limit: number;
  readonly error: string;
  /** That of the error, for the history. */
  readonly fingerprint?: string | undefined;
  readonly maxAttempts?: MaxAttempts | undefined;
}

/** The methods of the contract for leases. */
export interface Leases<TTxContext> {
  /**
   * Extends leases. Each is checked on its own: the job runs, the token is current, the lease has not expired. Never
   * waits for a row that another transaction holds: that one is `busy`.
   */
  renewLeases(call: StateCall<TTxContext> & RenewLeasesCall): Promise<RenewalResult[]>;

  /**
   * Locks jobs until the transaction ends, and checks each lease on its own once its job is locked. No other call can
   * change a job until then, whether its lease was refused or not. Waits for rows that another transaction holds.
   */
  lockHeldJobs(call: StateCallInTransaction<TTxContext> & LockHeldJobsCall): Promise<LockResult[]>;

  /** Locks the current job of a sequence, whatever its status. Undefined when there is no such sequence. */
  lockSequence(
    call: StateCallInTransaction<TTxContext> & LockSequenceCall,
  ): Promise<StateSequence | undefined>;

  /**
   * Takes up to `limit` running jobs whose lease has expired. With attempts left they become pending, as if scheduled
   * for the moment the lease ended. Without, they fail (`attempts_exhausted`, with `error`), and so do their dependants.
   * The end of the lease becomes `lastFailedAt`. Skips locked rows and never waits for them.
   *
   * Without an attempt left but with `expiredLeases` > 0, the last attempt may not have begun (see `LeaseRenewal`): the process
   * died of another job. Such a job becomes pending, too. `mayRunAgain` is the rule.
   *
   * With the part `history`, each lease is an attempt that `expired`: from `lastAttemptAt` to the end of the lease. A job
   * that fails gets the fingerprint.
   */
  reapExpiredLeases(call: StateCall<TTxContext> & ReapCall): Promise<ReapedJob[]>;
}
