/** What an ordered group does when one of its jobs has failed for good: goes on with the next, or stops. */
export type OrderedGroup = "continue" | "stop";

/*
 * The settings of a job, from the options of a call to what is stored. A new one is added here; the compiler then asks for
 * it in job-types/settings.ts, jobs/new-job.ts, jobs/view.ts, recurring/read.ts, store/rules/transitions.ts and the column
 * tables of the stores. The SQL stores also need a migration.
 */

/** What can be said of a job at its start, or of all jobs of its type. */
export interface JobSettings {
  /** The queue it waits in. Default: that of its type, else `"default"`. */
  readonly queue?: string | undefined;
  /** Higher runs first. Default: that of its type, else 0. */
  readonly priority?: number | undefined;
  /**
   * How often it may run in all. A start overrides the handler, the handler overrides the type, and the type overrides the
   * `defaults` of the instance, which say 4. A worker may cap it.
   */
  readonly maxAttempts?: number | undefined;
  /** How long one attempt may take before its signal aborts. The smaller of the job's and its type's counts. */
  readonly timeoutMs?: number | undefined;
  /**
   * The group it belongs to, such as a customer: 1 to 200 characters. Groups take turns, and limits can be set for each of
   * them (`limits.set`). Groups of different types have nothing to do with each other. Default: what `group` of its type says.
   */
  readonly group?: string | undefined;
  /**
   * How long it may wait for its first attempt, from the moment it can run; then it fails with `expired`. Default: that of
   * its type, else that of the `defaults`. Default: no limit.
   */
  readonly expireAfterMs?: number | undefined;
}

/** Whether a blocked job fails with a sequence that it waits for, or runs. */
export type OnBlockerFailure = "fail" | "wait";

/** What can be said of all jobs of a type, but not of a single one. */
export interface TypeJobSettings extends Omit<JobSettings, "group"> {
  /** How long a worker may be silent before the job is given to another one. Default: the worker's `leaseMs`. */
  readonly leaseMs?: number | undefined;
  /** Whether a blocked job fails with a sequence that it waits for, or runs. Default: `"fail"`. */
  readonly onBlockerFailure?: OnBlockerFailure | undefined;
  /**
   * Whether the jobs of a group run one at a time, in order. Every job of the type then needs a group. After a
   * permanent failure the next job runs; with `{ onFailure: "stop" }` the group stops until that job is redriven or
   * deleted, or `limits.resume` is called. Default: false.
   */
  readonly ordered?: boolean | { readonly onFailure: OrderedGroup } | undefined;
}

/** What every job has of them. */
export interface VisibleJobSettings {
  readonly queue: string;
  readonly priority: number;
  readonly maxAttempts: number;
  readonly timeoutMs: number | null;
  /** The group whose line it waits in; null for none. */
  readonly group: string | null;
  /** How long it may wait for its first attempt; null for no limit. */
  readonly expireAfterMs: number | null;
}

/** What is stored with a job and never changes. */
export interface StoredJobSettings extends VisibleJobSettings {
  /** False: `maxAttempts` is only a default, which a handler that names its own overrides. */
  readonly maxAttemptsGiven: boolean;
  /** The lease this job asks for; null takes the worker's. */
  readonly leaseMs: number | null;
  readonly onBlockerFailure: OnBlockerFailure;
  /** The jobs of its group run one at a time, in order; null where they need not. */
  readonly ordered: OrderedGroup | null;
}

/** What a store keeps of a job type, for starts that do not come through Leasehold. */
export interface StateJobType extends Omit<StoredJobSettings, "group" | "maxAttemptsGiven"> {
  readonly typeName: string;
  /** Every job of the type has a group, which only the application can find by its input. */
  readonly needsGroup: boolean;
  /** Whether a job of it can be started with nothing but JSON: it is not internal, and has no blockers and no codec of its own. */
  readonly startable: boolean;
  /** The largest input. */
  readonly maxPayloadBytes: number;
}

/**
 * The stored job: what every state adapter persists and returns. Times are milliseconds since the epoch by the store's
 * clock; `input`, `output`, `progress` and `lastError` are text that only core can read.
 *
 *              start                claim                    complete
 *   (none) ────────▶ pending ─────────────▶ running ───────────────────▶ completed
 *      │               ▲ ▲                   │ │ │
 *      │ has open      │ │  retry, release   │ │ └─ unrecoverable, exhausted, cancelled ─▶ failed
 *      │ blockers      │ └───────────────────┘ │                                            │
 *      └──▶ blocked ───┘    lease expires: claimable again                                  │
 *           last blocker completes           ◀───────────────── redrive ────────────────────┘
 */
export const jobStatuses = ["blocked", "pending", "running", "completed", "failed"] as const;

/** The status of a job. */
export type JobStatus = (typeof jobStatuses)[number];

/** Every reason for which a job can fail. */
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

/**
 * The type and queue of the dashboard's actions. They are its log of who did what: only their own retention prunes them. Lists,
 * counts and operations on jobs chosen by a filter skip them unless the filter names them.
 */
export const actionTypeName = "leasehold.action";

/** The queue of the jobs that carry out actions of the dashboard. */
export const actionQueue = "leasehold.actions";

/** A job as a store keeps it. */
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

  /** Raised by every claim, and lowered again when the job is released. */
  readonly attempt: number;
  /** The token of the latest claim. It stays after its holder's outcome, so that the same outcome again is recognised. */
  readonly leaseToken: string | null;
  /** Raised by one at every claim, never lowered. */
  readonly leaseVersion: number;
  readonly leasedBy: string | null;
  /** Of the worker that claimed the job last, if its process names one. */
  readonly deployment: string | null;
  readonly leasedUntil: number | null;
  /**
   * How many leases in a row ran out without an outcome: the mark of a job that takes its process down. Negative from when its
   * last attempt begins until that is released.
   */
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

/** Whether a job of this status has finished. */
export const isTerminal = (status: JobStatus): boolean => status === "completed" || status === "failed";

/** The part of a job that identifies it. */
export const referenceTo = (job: JobReference): JobReference => ({
  id: job.id,
  typeName: job.typeName,
  queue: job.queue,
  sequenceId: job.sequenceId,
  sequenceTypeName: job.sequenceTypeName,
  rootSequenceId: job.rootSequenceId,
});

/** When a job may run: at a moment, or some time after the store's present. */
export type ScheduleOptions = { at: Date; afterMs?: never } | { at?: never; afterMs: number };

/** The same in the form adapters take: only the store adds `afterMs` to its own clock, so no worker's clock matters. */
export type Schedule = { readonly at: number } | { readonly afterMs: number };
