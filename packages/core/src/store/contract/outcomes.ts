import type { StateCall } from "./calls.ts";
import type { LeaseRefusal } from "./claims.ts";
import type { AttemptNote } from "./history.ts";
import type { FailureReason, JobReference, Schedule, StateJob } from "./job.ts";

/** Whether a sequence was cancelled. */
export interface CancelResult {
  readonly sequenceId: string;
  readonly kind: "cancelled" | "already_completed" | "already_failed" | "not_found";
  /** The job that was current, as it is now; null when not found. */
  readonly job: StateJob | null;
  /** Whether this call did it: false for a sequence that was cancelled before. */
  readonly changed: boolean;
  readonly wasRunning: boolean;
  readonly cascaded: readonly JobReference[];
}

/** Whether a job was redriven. */
export interface RedriveResult {
  readonly jobId: string;
  /**
   * `blocker_failed`: a sequence it waits for is still failed; redrive that one. `blocker_cycle`: a sequence it waits
   * for now waits for its own. `duplicate_live`: an unfinished sequence with the same deduplication key has been started
   * since.
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

/** The arguments for cancelling sequences. */
export interface CancelCall {
  readonly sequenceIds: readonly string[];
  readonly error: string;
}

/** The arguments for redriving jobs. */
export interface RedriveCall {
  readonly jobIds: readonly string[];
  /** None of them runs before. Default: now. */
  readonly schedule?: Schedule | undefined;
}

/** The methods of the contract for cancelling and redriving. */
export interface CancelAndRedrive<TTxContext> {
  /**
   * Fails the current job of each sequence with `cancelled`, whether blocked, pending or running. A running one loses
   * its lease at once. A sequence that was cancelled before is `cancelled` again, and not `changed`.
   */
  cancelSequences(call: StateCall<TTxContext> & CancelCall): Promise<CancelResult[]>;

  /**
   * Revives failed jobs: to pending, or to blocked while blockers are open. They can run now, or at the time they were
   * scheduled for if that is still to come. `attempt` and `expiredLeases` start again at 0; `leaseVersion` goes on. Jobs
   * that failed because of them, and because of nothing else that is still failed, return to blocked. Fingerprints are taken
   * from all of them; attempts stay.
   */
  redriveJobs(call: StateCall<TTxContext> & RedriveCall): Promise<RedriveResult[]>;
}

interface OutcomeBase {
  readonly jobId: string;
  /** The token of the lease under which the attempt ran; null for workerless completion. */
  readonly leaseToken: string | null;
  /**
   * This transaction has locked the job (`lockHeldJobs`, `lockSequence`), so the lease is not checked for expiry again: the
   * row lock protects it until commit.
   */
  readonly locked?: boolean;
  /**
   * What the history is to know of the attempt. A store without that part ignores it, and so does every store where the job
   * completes. An outcome without a lease has none.
   */
  readonly note?: AttemptNote | undefined;
}

/** How an attempt ended, with the lease that allows to record it. */
export type JobOutcome = OutcomeBase &
  (
    | {
        readonly kind: "complete";
        readonly output: string | null;
        /** The continuation, already created in this transaction. */
        readonly continuedToId: string | null;
        readonly completedBy: string | null;
        /**
         * False: the job is not needed once it has completed. A store with the capability `discardsCompleted` then deletes it
         * instead, if `isDiscardable` in `store/rules/checks.ts` holds for it and the call has no other outcome of it. In all
         * other cases the job is completed as usual, and pruned later. Default: true.
         */
        readonly keep?: boolean | undefined;
      }
    /** Back to pending; the attempt counts. */
    | { readonly kind: "retry"; readonly schedule: Schedule; readonly error: string | null }
    /**
     * Back to pending as if the attempt had never been: `attempt` falls by one. Without a schedule the job keeps
     * `scheduledAt`, and with it its place in line.
     */
    | { readonly kind: "release"; readonly schedule: Schedule | null; readonly error: string | null }
    | { readonly kind: "fail"; readonly reason: FailureReason; readonly error: string | null }
  );

/** Whether an outcome was recorded, and what it changed. */
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
  /** This same outcome was applied before; nothing changed. */
  | { readonly kind: "repeated" }
  | LeaseRefusal;

/** The arguments of `commitOutcomes`. */
export interface CommitOutcomesCall {
  readonly outcomes: readonly JobOutcome[];
  /**
   * The callback of the transaction, which is not nested, resolves right after this call if all outcomes are applied. A store
   * may then commit the transaction in the same round trip. Nothing is committed unless all are applied. An error of the call
   * leaves open whether it was committed, like a lost reply to the commit.
   */
  readonly isLast?: boolean | undefined;
}

/** The methods of the contract that record how attempts ended. */
export interface Outcomes<TTxContext> {
  /**
   * Records how attempts ended. Each outcome is fenced on its own: the job runs, the token is current, the lease has not
   * expired (or this transaction has locked the job). A null token is workerless: any status that is not terminal will
   * do. A refused outcome changes nothing and does not affect the others.
   *
   * The job keeps the token under which its attempt ended, so the same outcome again is `repeated`. An end that the
   * holder did not report (workerless completion, cancel, reap) clears the token, so that a late report is refused. A job that
   * was deleted because of `keep: false` keeps nothing: the same outcome again is refused with `not_found`.
   *
   * In the same atomic step:
   * - when a sequence completes (its job completes without a continuation), the jobs it blocked have one open blocker
   *   less. At none they become pending, scheduled for now unless they were scheduled for later;
   * - when a sequence fails, blocked jobs whose `onBlockerFailure` is `fail` fail with `blocker_failed` and the error of
   *   `blockerErrorText`, and so do the jobs that wait for those.
   *
   * A retry or a failure sets `expiredLeases` to 0 and `lastFailedAt` to now. Giving a job back keeps both,
   * and `expiredLeases` is positive again if the last attempt had begun.
   *
   * With the part `history`: an outcome with a `note` writes an attempt, and a failure gives the job the fingerprint of its
   * note.
   */
  commitOutcomes(call: StateCall<TTxContext> & CommitOutcomesCall): Promise<OutcomeResult[]>;
}
