import type { JobReference, StateJob } from "../../model/job.ts";
import type { Schedule } from "../../model/schedule.ts";
import type { StateCall } from "../state-call.ts";

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

export interface CancelCall {
  readonly sequenceIds: readonly string[];
  readonly error: string;
}

export interface RedriveCall {
  readonly jobIds: readonly string[];
  /** None of them runs before. Default: now. */
  readonly schedule?: Schedule | undefined;
}

export interface Interventions<TTxContext> {
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
