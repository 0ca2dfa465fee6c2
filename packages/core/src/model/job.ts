import type { StoredJobSettings } from "./job-settings.ts";

/**
 * The stored job: what every state adapter persists and returns. Times are milliseconds since the epoch by the store's
 * clock; `input`, `output`, `progress` and `lastError` are text that only core can read.
 *
 *              start                claim                    complete
 *   (none) ────────▶ pending ─────────────▶ running ───────────────────▶ completed
 *      │               ▲ ▲                   │ │ │
 *      │ has open      │ │  retry, give back │ │ └─ unrecoverable, exhausted, cancelled ─▶ failed
 *      │ blockers      │ └───────────────────┘ │                                            │
 *      └──▶ blocked ───┘    lease expires: claimable again                                  │
 *           last blocker completes           ◀───────────────── redrive ────────────────────┘
 */
export const jobStatuses = ["blocked", "pending", "running", "completed", "failed"] as const;

export type JobStatus = (typeof jobStatuses)[number];

export const failureReasons = [
  "attempts_exhausted",
  "unrecoverable",
  "blocker_failed",
  "cancelled",
  "no_handler",
  "invalid_input",
  "expired",
] as const;

/** Why a job is in `failed`. */
export type FailureReason = (typeof failureReasons)[number];

export interface StateJob extends StoredJobSettings {
  readonly id: string;
  readonly typeName: string;
  /** The id of the first job of the sequence; its own id for the first job. */
  readonly sequenceId: string;
  readonly sequenceTypeName: string;
  /** 0 for the first job, 1 for its continuation, and so on without gaps. */
  readonly sequenceIndex: number;
  /** When the first job of the sequence was created. */
  readonly sequenceCreatedAt: number;
  /** The sequence at the top of the tree of sequences that led to this job; its own sequence for a root. */
  readonly rootSequenceId: string;
  /** The job that brought this one about; null for a root. */
  readonly originId: string | null;
  /** Where the job was started, in the words of the observability adapter that traces it. */
  readonly traceContext: string | null;

  readonly status: JobStatus;
  readonly input: string;
  readonly output: string | null;
  readonly progress: string | null;

  readonly createdAt: number;
  /** From when on the job can run, never before it could; among jobs of one priority also its place in line. */
  readonly scheduledAt: number;

  /** Raised by every claim, and lowered again when the job is given back. */
  readonly attempt: number;
  /** The token of the latest claim. It stays after its holder's outcome, so that the same outcome again is recognised. */
  readonly leaseToken: string | null;
  /** Raised by one at every claim, never lowered. */
  readonly leaseVersion: number;
  readonly leasedBy: string | null;
  readonly leasedUntil: number | null;
  /** How many leases in a row ran out without an outcome: the mark of a job that takes its process down. */
  readonly expiredLeases: number;

  readonly lastAttemptAt: number | null;
  readonly lastError: string | null;
  /**
   * When the latest attempt that failed ended, be it retried since or even completed; for one whose lease ran out, the
   * end of that lease.
   */
  readonly lastFailedAt: number | null;

  readonly completedAt: number | null;
  /** The worker that completed the job; null for workerless completion. */
  readonly completedBy: string | null;
  readonly continuedToId: string | null;

  readonly failedAt: number | null;
  readonly failureReason: FailureReason | null;
  /** With `blocker_failed`: the sequence whose failure took this job along. */
  readonly failedBlockerId: string | null;

  /** It runs and is counted against a limit, so that its end may let another one start. */
  readonly limited: boolean;

  readonly deduplicationKey: string | null;
  /**
   * Who gave the job its input, if not its own start: the id that the start would have had that replaced it, or the job's
   * own id if its input was changed while it waited.
   */
  readonly replacedBy: string | null;
  /** How many sequences this job was given as blockers. */
  readonly blockerCount: number;
  /** How many of them have not completed. */
  readonly openBlockers: number;

  /** The recurring job that started it and the time it is for, as text that only core can read; null for most jobs. */
  readonly recurrence: string | null;
}

/** The first and the latest job of a sequence; the same job while there is no continuation. */
export interface StateSequence {
  readonly first: StateJob;
  readonly current: StateJob;
}

/** The part of a job that travels in results where the whole row would be waste. */
export type JobReference = Pick<
  StateJob,
  "id" | "typeName" | "queue" | "sequenceId" | "sequenceTypeName" | "rootSequenceId"
>;

export const isTerminal = (status: JobStatus): boolean => status === "completed" || status === "failed";

export const referenceTo = (job: JobReference): JobReference => ({
  id: job.id,
  typeName: job.typeName,
  queue: job.queue,
  sequenceId: job.sequenceId,
  sequenceTypeName: job.sequenceTypeName,
  rootSequenceId: job.rootSequenceId,
});
