import type { FailureReason, JobReference, JobStatus, StateJob, StateSequence } from "../../model/job.ts";
import type { StateCall, StateCallInTransaction } from "../state-call.ts";
import type { MaxAttempts } from "./claims.ts";

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

export interface LeaseRenewal extends HeldLease {
  readonly leaseMs: number;
  /** Stored with the job, where given. */
  readonly progress?: string | undefined;
}

export type RenewalResult =
  | { readonly kind: "renewed"; readonly leasedUntil: number }
  /** Another transaction holds the row right now. The lease is as it was. */
  | { readonly kind: "busy" }
  | LeaseRefusal;

export type LockResult = { readonly kind: "locked" } | LeaseRefusal;

export interface ReapedJob {
  /** The job after reaping: pending, or failed where its attempts are used up. */
  readonly job: StateJob;
  readonly previouslyLeasedBy: string | null;
  readonly cascaded: readonly JobReference[];
}

export interface RenewLeasesCall {
  readonly leases: readonly LeaseRenewal[];
}

export interface LockHeldJobsCall {
  readonly leases: readonly HeldLease[];
}

export interface LockSequenceCall {
  readonly sequenceId: string;
}

export interface ReapCall {
  readonly limit: number;
  readonly error: string;
  /** That of the error, for the history. */
  readonly fingerprint?: string | undefined;
  readonly maxAttempts?: MaxAttempts | undefined;
}

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
   * With the part `history`, each lease is an attempt that `expired`: from `lastAttemptAt` to the end of the lease, with
   * `error` and the fingerprint given. A job that fails gets the fingerprint.
   */
  reapExpiredLeases(call: StateCall<TTxContext> & ReapCall): Promise<ReapedJob[]>;
}
