import type { StateJob } from "../../model/job.ts";
import type { StoredJobSettings } from "../../model/job-settings.ts";
import type { Schedule } from "../../model/schedule.ts";
import type { StateCall, StateCallInTransaction } from "../state-call.ts";

export interface NewJob extends Omit<StoredJobSettings, "maxAttemptsGiven" | "expireAfterMs"> {
  readonly id: string;
  readonly typeName: string;
  readonly sequenceId: string;
  readonly sequenceTypeName: string;
  readonly sequenceIndex: number;
  /** As the first job of the sequence has it; null for the first job itself. */
  readonly sequenceCreatedAt: number | null;
  readonly rootSequenceId: string;
  readonly originId: string | null;
  readonly traceContext: string | null;
  readonly input: string;
  readonly schedule: Schedule;
  /** False when `maxAttempts` is only a default, which the `MaxAttempts` of a later call override. Default: true. */
  readonly maxAttemptsGiven?: boolean;
  /** Only for stores with the part `flow`. Default: null. */
  readonly expireAfterMs?: number | null;
  /** Start as `blocked`: `addJobBlockers` follows in the same transaction. */
  readonly awaitsBlockers: boolean;
  readonly deduplication: NewJobDeduplication | null;
  /** See `StateJob`. Default: null. */
  readonly recurrence?: string | null;
}

export interface NewJobDeduplication {
  readonly key: string;
  /**
   * `unfinished`: only unfinished sequences count as duplicates. `all`: finished ones too. `pending`: only those whose
   * first job waits, be it as a retry (`isWaiting` of the rules); for stores with the part `flow`.
   */
  readonly scope: "pending" | "unfinished" | "all";
  /** Only sequences created within this time count; null for no limit. */
  readonly windowMs: number | null;
  /**
   * What becomes of a duplicate whose first job waits: the new job takes its place (`replaced` of the rules). Others, and
   * all without this, are kept as they are. Only for stores with the part `flow`.
   */
  readonly onDuplicate?: OnDuplicate | undefined;
}

/** `debounce` also moves the job to the new time, at most `maxDelayMs` after its creation. */
export type OnDuplicate = "replace" | { readonly debounce: { readonly maxDelayMs: number } };

export interface CreatedStateJob {
  /** The job as stored. If `deduplicated`, the first job of the sequence that existed already. */
  readonly job: StateJob;
  readonly deduplicated: boolean;
  /** The new job has taken the place of that first job. Absent otherwise. */
  readonly replaced?: true;
}

export interface CreateJobsCall {
  readonly jobs: readonly NewJob[];
}

export interface AddJobBlockersCall {
  readonly jobId: string;
  readonly blockerSequenceIds: readonly string[];
}

export interface NewJobs<TTxContext> {
  /**
   * Stores all jobs or none. Throws `JobAlreadyExistsError` with all ids that exist already.
   *
   * Deduplication looks at sequences of the same type and key, and sees the earlier jobs of the same call. The store
   * serialises calls with the same key: of any number of concurrent ones, exactly one creates the job.
   *
   * A replacement locks the job that is replaced and looks at its status again: it never changes a job that a worker has
   * claimed. A call that finds a job with `replacedBy` its own id has been applied before, whatever became of the job
   * since: it is answered as a replacement, and nothing changes.
   */
  createJobs(call: StateCall<TTxContext> & CreateJobsCall): Promise<CreatedStateJob[]>;

  /**
   * Gives a job created with `awaitsBlockers` the sequences it waits for, and decides its status: `pending` when all
   * have completed; `failed` (`blocker_failed`) when one has failed and the job's `onBlockerFailure` is `fail`;
   * otherwise `blocked`. Locks the current job of each sequence, so that none can finish unseen meanwhile.
   *
   * Throws `JobNotFoundError` for a sequence that does not exist. Throws `BlockerCycleError` when a blocker, directly or
   * through the open blockers of blocked jobs, waits for this job's sequence.
   */
  addJobBlockers(call: StateCallInTransaction<TTxContext> & AddJobBlockersCall): Promise<StateJob>;
}
