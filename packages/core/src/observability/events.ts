import type { FailureReason, JobStatus } from "../store/contract/job.ts";

/**
 * What became of a time. `started`: a job, on time. `caught_up`: a job, late. `skipped`: none, because the last sequence had
 * not finished. `dropped`: none, because a later time overtook it or it was too late for the `catchUp` policy.
 */
export const tickResults = ["started", "caught_up", "skipped", "dropped"] as const;

/** What a tick of a recurring job did. */
export type TickResult = (typeof tickResults)[number];

/** Identifies a job in events. Primitive on purpose: observers must not depend on the model. */
export interface JobEventData {
  readonly id: string;
  readonly typeName: string;
  readonly queue: string;
  readonly sequenceId: string;
  readonly sequenceTypeName: string;
  readonly rootSequenceId: string;
}

export interface AttemptEventData extends JobEventData {
  readonly workerId: string;
  readonly attempt: number;
}

/** What events about a worker contain. */
export interface WorkerEventData {
  readonly workerId: string;
  readonly typeNames: readonly string[];
}

/** What events about a failed operation contain. */
export interface ErrorEventData {
  readonly operation: string;
  readonly error: unknown;
}

/** Every event there is, with its data. Counters, histograms, gauges and log lines are all made from these. */
export interface LeaseholdEvents {
  workerStarted: WorkerEventData;
  workerError: { readonly workerId: string; readonly loop: string; readonly error: unknown };
  workerStopping: WorkerEventData;
  workerStopped: WorkerEventData & {
    readonly clean: boolean;
    readonly releasedJobs: number;
    readonly abortedJobs: number;
    readonly abandonedJobs: number;
    readonly unwrittenResults: number;
  };

  jobCreated: JobEventData & { readonly scheduledAt: number; readonly originId: string | null };
  jobSequenceCreated: JobEventData;
  jobBlocked: JobEventData;
  jobUnblocked: JobEventData;
  jobCompleted: JobEventData & { readonly workerId: string | null; readonly continuedToId: string | null };
  jobFailed: JobEventData & { readonly reason: FailureReason; readonly error: unknown };
  jobCancelled: JobEventData;
  /** A job that waited was changed: by a start that took its place (`onDuplicate`), or by `jobs.update`. */
  jobUpdated: JobEventData & { readonly scheduledAt: number; readonly changedBy: "start" | "update" };
  /** A failed job is alive again. `revivedBy` is the job whose redrive brought it back, null for one chosen itself. */
  jobRedriven: JobEventData & { readonly revivedBy: string | null };
  /** Deleted by `deleteJobSequences`, in whatever status, or pruned after it had failed. */
  jobDeleted: JobEventData & { readonly status: JobStatus };
  jobReaped: JobEventData & { readonly previousWorkerId: string | null };
  jobSequenceCompleted: JobEventData;
  jobSequenceFailed: JobEventData & { readonly reason: FailureReason };

  jobAttemptStarted: AttemptEventData;
  jobAttemptCompleted: AttemptEventData;
  jobAttemptFailed: AttemptEventData & { readonly error: unknown; readonly retryInMs: number | null };
  jobAttemptRescheduled: AttemptEventData;
  jobAttemptTimedOut: AttemptEventData & { readonly timeoutMs: number };
  jobAttemptTakenByAnotherWorker: AttemptEventData;
  jobAttemptAlreadyCompleted: AttemptEventData;
  jobAttemptLeaseExpired: AttemptEventData;
  jobAttemptLeaseRenewed: AttemptEventData;
  /** A stale lease tried to record an outcome, and was refused. */
  jobAttemptFenced: AttemptEventData & { readonly refusal: string };
  /** The handler ignored its signal past the grace period; another job got its slot. */
  jobAttemptStuck: AttemptEventData;
  /** A handler settled after its attempt had ended; the result was dropped. */
  jobAttemptLateResult: AttemptEventData;
  /** The store rolled back a `prepare` or `complete` for a transient reason; after its `run`th time it is run again. */
  jobAttemptTransactionRepeated: AttemptEventData & {
    readonly operation: string;
    readonly run: number;
    readonly error: unknown;
  };
  /** As above, but it could not be run again: the job goes back to its queue, and the attempt does not count. */
  jobAttemptReleased: AttemptEventData & { readonly error: unknown; readonly retryInMs: number };
  /** A handler failed after its `complete` had committed: the job stays completed. */
  jobAttemptErrorAfterCompletion: AttemptEventData & { readonly error: unknown };

  /** What became of a time of a recurring job. `count` is more than 1 only for times that were dropped together. */
  recurringJobTicked: {
    readonly recurringJobId: string;
    readonly typeName: string;
    readonly queue: string;
    readonly result: TickResult;
    readonly nominalAt: number;
    readonly count: number;
    readonly sequenceId: string | null;
    readonly triggered: boolean;
    readonly latenessMs: number;
  };
  /**
   * The job of a recurring job that is due could not be started, for a reason that is not transient. It is tried again after
   * `retryInMs`; other recurring jobs run. `typeName` and `queue` are null if the definition cannot be read.
   */
  recurringJobFailed: {
    readonly recurringJobId: string;
    readonly typeName: string | null;
    readonly queue: string | null;
    /** How often it has failed in a row. */
    readonly tries: number;
    readonly retryInMs: number;
    readonly error: unknown;
  };
  /**
   * The store's clock is behind the time at which recurring jobs were last moved on, by more than a minute. Their next times
   * have been computed anew; none of their nominal times comes twice.
   */
  storeClockSetBack: {
    /** How many recurring jobs were found in this tick. */
    readonly recurringJobs: number;
    /** By how much it was set back, as far as their ticks show. */
    readonly byMs: number;
  };

  jobDuration: JobEventData & { readonly durationMs: number };
  jobSequenceDuration: JobEventData & { readonly durationMs: number };
  jobAttemptDuration: AttemptEventData & { readonly durationMs: number };
  jobTimeInQueue: JobEventData & { readonly durationMs: number };
  /** One call to the store, and how long it took. */
  claimBatch: {
    readonly workerId: string;
    readonly requested: number;
    readonly claimed: number;
    readonly durationMs: number;
  };
  commitBatch: { readonly workerId: string; readonly size: number; readonly durationMs: number };
  jobTypeIdleChange: { readonly typeName: string; readonly workerId: string; readonly delta: number };
  jobTypeProcessingChange: { readonly typeName: string; readonly workerId: string; readonly delta: number };

  /** A notification was not sent: the call was in a transaction that core does not commit, outside `withNotify`. */
  notifyContextAbsence: { readonly operation: string };
  notifyAdapterError: ErrorEventData;
  stateAdapterError: ErrorEventData;
}

/** The name of an event. */
export type LeaseholdEventName = keyof LeaseholdEvents;
