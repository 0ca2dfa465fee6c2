import type { StoredError } from "../base/stored-error.ts";
import type { FailureReason, VisibleJobSettings } from "../store/contract/job.ts";

/** Which recurring job started a job, and for which time. */
export interface JobRecurrence {
  /** The id of the recurring job. */
  readonly id: string;
  /** The time it is for. The job may have been started later than that. */
  readonly nominalAt: Date;
  /** How many times right before this one were dropped, counted up to 1,000. */
  readonly missed: number;
}

/**
 * Jobs and sequences as users see them: unions discriminated by `status`, so that reading an output that is not there
 * does not compile. Each member is an interface: the compiler keeps and compares those far more cheaply than the
 * intersections they could be written as. All are exported, for users whose own declarations mention them.
 */
export interface JobBase<TJobId, TTypeName, TInput, TSequenceTypeName> extends VisibleJobSettings {
  readonly id: TJobId;
  readonly typeName: TTypeName;
  /** The id of the first job of the sequence; its own id for the first job. */
  readonly sequenceId: TJobId;
  /** The type of the first job of the sequence. */
  readonly sequenceTypeName: TSequenceTypeName;
  /** The sequence at the top of the tree of sequences that led to this job; its own sequence for a root. */
  readonly rootSequenceId: TJobId;
  /** The job that brought this one about; null for a root. */
  readonly originId: TJobId | null;
  readonly input: TInput;
  readonly createdAt: Date;
  /** From when on it can run: as scheduled, but never before it was started or its blockers had completed. */
  readonly scheduledAt: Date;
  /** How often the job has been claimed; the first run is attempt 1. */
  readonly attempt: number;
  /** What the handler last passed to `reportProgress`; null before that. */
  readonly progress: unknown;
  /** What the latest unsuccessful attempt threw. */
  readonly lastError: StoredError | null;
  readonly lastAttemptAt: Date | null;
  /** When the latest unsuccessful attempt ended, be it retried since; null while none has failed. */
  readonly lastFailedAt: Date | null;
  /** As given to `deduplication` when the sequence was started; null for continuations, too. */
  readonly deduplicationKey: string | null;
  /** What started it, if that was a recurring job; null for all others, continuations too. */
  readonly recurrence: JobRecurrence | null;
  /**
   * Who gave the job its input, if not its own start: the id of the start that took its place, or the job's own id if
   * `jobs.update` changed it.
   */
  readonly replacedBy: TJobId | null;
}

/** The shape of a job that waits for its next attempt. */
export interface JobPending<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName> extends JobBase<
  TJobId,
  TTypeName,
  TInput,
  TSequenceTypeName
> {
  readonly status: "pending";
  readonly blockers: TBlockers;
}

/** The shape of a job that waits for blockers. */
export interface JobBlocked<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName> extends JobBase<
  TJobId,
  TTypeName,
  TInput,
  TSequenceTypeName
> {
  readonly status: "blocked";
  readonly blockers: TBlockers;
}

/** The shape of a job under a lease. */
export interface JobRunning<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName> extends JobBase<
  TJobId,
  TTypeName,
  TInput,
  TSequenceTypeName
> {
  readonly status: "running";
  /** A job runs only when all it waited for has completed, so every `output` can be read. */
  readonly blockers: CompletedBlockers<TBlockers>;
  readonly leasedBy: string;
  readonly leasedUntil: Date;
}

export interface JobCompleted<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName> extends JobBase<
  TJobId,
  TTypeName,
  TInput,
  TSequenceTypeName
> {
  readonly status: "completed";
  readonly blockers: TBlockers;
  readonly completedAt: Date;
  /** The worker that completed the job; null for workerless completion. */
  readonly completedBy: string | null;
}

/** Completed, and the last of its sequence. */
export interface JobCompletedWithOutput<
  TJobId,
  TTypeName,
  TInput,
  TBlockers,
  TSequenceTypeName,
  TOutput,
> extends JobCompleted<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName> {
  readonly output: TOutput;
  readonly continuedToId: null;
}

/** Completed by handing on to the next job of its sequence. */
export interface JobContinued<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName> extends JobCompleted<
  TJobId,
  TTypeName,
  TInput,
  TBlockers,
  TSequenceTypeName
> {
  readonly output: undefined;
  readonly continuedToId: TJobId;
}

/** The shape of a job that has failed. */
export interface JobFailed<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName> extends JobBase<
  TJobId,
  TTypeName,
  TInput,
  TSequenceTypeName
> {
  readonly status: "failed";
  readonly blockers: TBlockers;
  readonly failure: JobFailure<TJobId>;
}

/** Why a job has failed. */
export interface JobFailure<TJobId> {
  readonly reason: FailureReason;
  readonly error: StoredError | null;
  readonly at: Date;
  readonly attempt: number;
  /** With `blocker_failed`: the sequence whose failure took this job along. */
  readonly blockerSequenceId: TJobId | null;
}

/**
 * A job. `TOutput` is `never` for a type that always continues, and `TContinues` is true if it can, so that the
 * completed state has exactly the forms the type allows.
 */
export type Job<
  TJobId extends string = string,
  TTypeName extends string = string,
  TInput = unknown,
  TBlockers extends readonly unknown[] = readonly AnyJobSequence[],
  TSequenceTypeName extends string = string,
  TOutput = unknown,
  TContinues extends boolean = boolean,
> =
  | JobBlocked<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName>
  | JobPending<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName>
  | JobRunning<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName>
  | ([TOutput] extends [never]
      ? never
      : JobCompletedWithOutput<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName, TOutput>)
  | (true extends TContinues ? JobContinued<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName> : never)
  | JobFailed<TJobId, TTypeName, TInput, TBlockers, TSequenceTypeName>;

/** A job of whatever type. */
export type AnyJob = Job;

/** A job that waits for blockers. */
export type BlockedJob<TJob> = Extract<TJob, { readonly status: "blocked" }>;

/** A job that waits for its next attempt. */
export type PendingJob<TJob> = Extract<TJob, { readonly status: "pending" }>;

/** A job under a lease. */
export type RunningJob<TJob> = Extract<TJob, { readonly status: "running" }>;

/** A job that has completed. */
export type CompletedJob<TJob> = Extract<TJob, { readonly status: "completed" }>;

/** A job that has failed. */
export type FailedJob<TJob> = Extract<TJob, { readonly status: "failed" }>;

/** A job that has not ended: the only kind that can still be completed. */
export type OpenJob<TJob> = Extract<TJob, { readonly status: "blocked" | "pending" | "running" }>;

/** A job just created: it can run, it waits, or what it would wait for has already failed. */
export type CreatedJob<TJob> =
  | PendingJob<TJob>
  | BlockedJob<TJob>
  | (FailedJob<TJob> & { readonly failure: { readonly reason: "blocker_failed" } });

/** A job while its blockers are still being started. */
export type JobWithoutBlockers<TJob> = TJob extends unknown ? Omit<TJob, "blockers"> : never;

export interface JobSequenceBase<TJobId, TTypeName, TInput, TCurrentTypeName> {
  /** The id of the first job. */
  readonly id: TJobId;
  /** The type of the first job. */
  readonly typeName: TTypeName;
  readonly rootSequenceId: TJobId;
  readonly originId: TJobId | null;
  /** The input of the first job. */
  readonly input: TInput;
  readonly createdAt: Date;
  /** The latest job, whose status is the sequence's. */
  readonly currentJobId: TJobId;
  readonly currentTypeName: TCurrentTypeName;
}

/** The shape of a sequence that has not finished. */
export interface JobSequenceOpen<TJobId, TTypeName, TInput, TCurrentTypeName> extends JobSequenceBase<
  TJobId,
  TTypeName,
  TInput,
  TCurrentTypeName
> {
  readonly status: "blocked" | "pending" | "running";
}

/** The shape of a sequence that has completed. */
export interface JobSequenceCompleted<
  TJobId,
  TTypeName,
  TInput,
  TOutput,
  TCurrentTypeName,
> extends JobSequenceBase<TJobId, TTypeName, TInput, TCurrentTypeName> {
  readonly status: "completed";
  /** The output of the last job. */
  readonly output: TOutput;
  readonly completedAt: Date;
}

/** The shape of a sequence that has failed. */
export interface JobSequenceFailed<TJobId, TTypeName, TInput, TCurrentTypeName> extends JobSequenceBase<
  TJobId,
  TTypeName,
  TInput,
  TCurrentTypeName
> {
  readonly status: "failed";
  readonly failure: JobFailure<TJobId>;
}

/** A chain of jobs, known by its first one, as a chain of promises is. */
export type JobSequence<
  TJobId extends string = string,
  TTypeName extends string = string,
  TInput = unknown,
  TOutput = unknown,
  TCurrentTypeName extends string = string,
> =
  | JobSequenceOpen<TJobId, TTypeName, TInput, TCurrentTypeName>
  | JobSequenceCompleted<TJobId, TTypeName, TInput, TOutput, TCurrentTypeName>
  | JobSequenceFailed<TJobId, TTypeName, TInput, TCurrentTypeName>;

/** A sequence of whatever type. */
export type AnyJobSequence = JobSequence;

/** Whether a sequence is open, completed or failed. */
export type JobSequenceStatus = AnyJobSequence["status"];

/** A sequence that has completed. */
export type CompletedJobSequence<TSequence> = Extract<TSequence, { readonly status: "completed" }>;

/** A sequence that has failed. */
export type FailedJobSequence<TSequence> = Extract<TSequence, { readonly status: "failed" }>;

export type CompletedBlockers<TBlockers> = { [I in keyof TBlockers]: CompletedJobSequence<TBlockers[I]> };

/** Why the signal of a handler aborts. */
export type JobAbortReason =
  | "taken_by_another_worker"
  | "already_completed"
  | "not_found"
  | "error"
  | "lease_expired"
  | "timeout"
  | "cancelled"
  | "shutdown";

/** An AbortSignal whose reason, once aborted, is one of `T`; undefined before that. */
export interface TypedAbortSignal<T> extends AbortSignal {
  readonly reason: T | undefined;
}
