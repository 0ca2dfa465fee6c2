import type { StateCall, StateCallInTransaction } from "./calls.ts";
import type { JobReference, JobStatus, Schedule, StateJob, StoredJobSettings } from "./job.ts";

/** What was deleted, or what prevented it. */
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
  /** The same for failed ones. */
  readonly failedBefore: number | null;
}

/** How many jobs were removed by age. */
export interface PruneResult {
  readonly deletedJobs: number;
  /** Those of them that had failed. */
  readonly failedJobs: readonly JobReference[];
  /** Where the pass continues, in the store's own format; null at its end. */
  readonly next: string | null;
}

/** The arguments of `deleteSequences`. */
export interface DeleteCall {
  readonly rootSequenceIds: readonly string[];
}

/** The arguments for removing finished jobs by age. */
export interface PruneCall {
  readonly rules: readonly PruneRule[];
  readonly limit: number;
  /** The `next` of the call before; null at the beginning of a pass. */
  readonly after: string | null;
  /** Do nothing and answer null while another call with `alone` is pruning the same store. */
  readonly alone?: boolean;
}

/** The methods of the contract that delete jobs. */
export interface Deletion<TTxContext> {
  /** Removes whole trees of sequences. See `DeletionResult` for what prevents it. Ignores ids that do not exist. */
  deleteSequences(call: StateCall<TTxContext> & DeleteCall): Promise<DeletionResult>;

  /**
   * Removes up to `limit` trees whose every sequence finished before the moment that its rule gives for how it ended,
   * and on which no tree that stays depends. Looks at a bounded number of jobs, however many there are. Going through all
   * of them is a pass of several calls, each with the `next` of the call before as `after`.
   *
   * A pass finds every tree that could go when the pass began, with two exceptions: a tree needed by one that the pass
   * removed later, and a tree that another transaction had locked. Locked jobs are skipped, never waited for.
   */
  pruneSequences(call: StateCall<TTxContext> & PruneCall): Promise<PruneResult | null>;
}

/** A job to be stored. */
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
  /** Only for stores with the part `edits`. Default: null. */
  readonly expireAfterMs?: number | null;
  /** Start as `blocked`: `addJobBlockers` follows in the same transaction. */
  readonly awaitsBlockers: boolean;
  readonly deduplication: NewJobDeduplication | null;
  /** See `StateJob`. Default: null. */
  readonly recurrence?: string | null;
}

/** The deduplication key of a new job, and what counts as a duplicate. */
export interface NewJobDeduplication {
  readonly key: string;
  /**
   * `unfinished`: only unfinished sequences count as duplicates. `all`: finished ones too. `pending`: only those whose
   * first job waits, be it as a retry (`isWaiting` of the rules); for stores with the part `edits`.
   */
  readonly scope: "pending" | "unfinished" | "all";
  /** Only sequences created within this time count; null for no limit. */
  readonly windowMs: number | null;
  /**
   * Replaces a duplicate whose first job waits by the new job (`replaced` of the rules). Other duplicates are kept. Only
   * for stores with the part `edits`.
   */
  readonly onDuplicate?: OnDuplicate | undefined;
}

/** `debounce` also moves the job to the new time, at most `maxDelayMs` after its creation. */
export type OnDuplicate = "replace" | { readonly debounce: { readonly maxDelayMs: number } };

/** A stored job, or the duplicate that was found instead. */
export interface CreatedStateJob {
  /** The job as stored. If `deduplicated`, the first job of the sequence that existed already. */
  readonly job: StateJob;
  readonly deduplicated: boolean;
  /** The new job has taken the place of that first job. Absent otherwise. */
  readonly replaced?: true;
}

/** The arguments of `createJobs`. */
export interface CreateJobsCall {
  readonly jobs: readonly NewJob[];
}

/** The arguments for giving a new job its blockers. */
export interface AddJobBlockersCall {
  readonly jobId: string;
  readonly blockerSequenceIds: readonly string[];
}

/** The methods of the contract that store new jobs. */
export interface NewJobs<TTxContext> {
  /**
   * Stores all jobs or none. Throws `JobAlreadyExistsError` with all ids that exist already, and `InvalidOptionError` for
   * an empty id.
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
