import type { StateCall } from "./calls.ts";
import type { JobReference, Schedule, StateJob } from "./job.ts";

/** What is to change in a job that waits. What is left out stays as it is. */
export interface WaitingJobChange {
  /** When it may run. A job that is due keeps its place in line if the new time is now or in the past. */
  readonly schedule?: Schedule | undefined;
  readonly priority?: number | undefined;
  /** For jobs of this type only. A waiting retry begins anew: `attempt` and `expiredLeases` 0, no `progress`. */
  readonly input?: { readonly typeName: string; readonly text: string } | undefined;
}

/** The arguments of `updateWaitingJobs`. */
export interface UpdateWaitingJobsCall {
  readonly jobIds: readonly string[];
  readonly change: WaitingJobChange;
}

/** Whether a waiting job was changed. */
export interface WaitingJobResult {
  readonly jobId: string;
  /** `not_waiting`: it runs or has finished. `other_type`: the new input is for another type. */
  readonly kind: "changed" | "not_found" | "not_waiting" | "other_type";
  /** The job as it is now; null when not found. */
  readonly job: StateJob | null;
}

/** The arguments for failing jobs that have waited too long. */
export interface ExpireCall {
  readonly limit: number;
  readonly error: string;
}

/** A job that has waited too long, and what its failure changed. */
export interface ExpiredJob {
  /** The job after it has failed. */
  readonly job: StateJob;
  readonly cascaded: readonly JobReference[];
}

/**
 * Jobs that wait: blocked ones, pending ones, and retries that are pending again.
 *
 * A store that has this part also takes `scope: "pending"` and `onDuplicate` in `createJobs`, and stores
 * `expireAfterMs`.
 */
export interface Edits<TTxContext> {
  /**
   * Changes jobs that wait. Each is locked and looked at again before it is changed: one that a worker has claimed
   * meanwhile is `not_waiting`, and stays as it is. A job that is named twice is changed once.
   */
  updateWaitingJobs(call: StateCall<TTxContext> & UpdateWaitingJobsCall): Promise<WaitingJobResult[]>;

  /**
   * Fails up to `limit` pending jobs that have waited too long for their first attempt (`expiresAt` of the rules): with
   * `expired` and the error of the call, and their dependants with them. Skips locked rows and never waits for them.
   */
  expireWaitingJobs(call: StateCall<TTxContext> & ExpireCall): Promise<ExpiredJob[]>;
}
