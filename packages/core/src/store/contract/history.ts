import type { StateCall, StateRead } from "./calls.ts";
import type { FailureReason } from "./job.ts";

/**
 * How an attempt ended that did not complete its job.
 *
 * - `retry`, `fail`, `release`: by an outcome of that kind.
 * - `expired`: its worker was gone, and its lease ran out.
 * - `cancelled`: `cancelSequences` took its lease.
 * - `already_completed`: an outcome without a lease completed the job.
 */
export const attemptOutcomes = [
  "retry",
  "fail",
  "release",
  "expired",
  "cancelled",
  "already_completed",
] as const;

/** How an attempt that did not complete ended. */
export type AttemptOutcome = (typeof attemptOutcomes)[number];

/** What the store cannot know about an attempt that ends, for its history. */
export interface AttemptNote {
  readonly attempt: number;
  /** The number of the claim under which it ran. With the job's id it identifies the attempt. */
  readonly leaseVersion: number;
  readonly workerId: string;
  readonly deployment: string | null;
  /** From when on the job could have run. */
  readonly dueAt: number;
  readonly startedAt: number;
  /** What kind of error it was; see `Causes`. */
  readonly fingerprint: string | null;
  /** A short form of the error, as text that only core can read. */
  readonly error: string | null;
  /** What the handler logged, as text that only core can read. */
  readonly log: string | null;
}

export interface StateAttempt extends AttemptNote {
  readonly jobId: string;
  readonly endedAt: number;
  readonly outcome: AttemptOutcome;
}

/** The arguments for a page of attempts. */
export interface ListAttemptsCall {
  readonly jobIds: readonly string[];
}

/** How many attempts of one job are kept. */
export const mostAttempts = 20;

/**
 * The attempts that did not complete their job. A job that completes at its first attempt has no rows. The latest 20 of a job
 * are kept, and they go when the job goes. Each row is written in the atomic step that ends the attempt:
 *
 * - `commitOutcomes` writes one for each outcome with a `note`, and for each outcome without a lease whose job was running.
 * - `cancelSequences` writes one for each job that was running.
 * - `reapExpiredLeases` writes one for each lease that ran out. So does the claim that takes over a job from an expired lease
 *   before it is reaped. It may do so for every expired lease that it finds, whether or not it takes the job; if an outcome
 *   that came just in time ends the attempt, its row replaces this one.
 *
 * A row that the holder of the lease has not written has what the job had: `attempt`, `leaseVersion`, `leasedBy`,
 * `deployment`, `scheduledAt` as `dueAt`, `lastAttemptAt` as `startedAt`. It has no error, fingerprint or log. If the lease had
 * run out by then, the outcome is `expired` and `endedAt` is the end of the lease.
 */
export interface Attempts<TTxContext> {
  /** For each job its attempts, those with the highest `leaseVersion` first. None for a job that does not exist. */
  listAttempts(call: StateCall<TTxContext> & ListAttemptsCall): Promise<StateAttempt[][]>;
}

/** What the errors with one fingerprint have in common, and where it was first seen. */
export interface NewCause {
  /** Sixteen hexadecimal digits. */
  readonly fingerprint: string;
  readonly name: string;
  readonly message: string;
  /** The function and file that the error came from. */
  readonly frame: string | null;
  readonly deployment: string | null;
}

/** The arguments for the causes of failures. */
export interface ListCausesCall {
  /** Reads at most this many failed jobs that match the rest of the call, greatest ids first. */
  readonly cap: number;
  readonly queues?: readonly string[] | undefined;
  readonly typeNames?: readonly string[] | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly recurringJobIds?: readonly string[] | undefined;
  /** Groups failures by time bucket of this many milliseconds, counted from the epoch. */
  readonly everyMs?: number | undefined;
}

/** The failed jobs with one fingerprint, of one type, queue and reason. */
export interface FailedJobs {
  /** Null for jobs that failed without an error of a handler, or before fingerprints were kept. */
  readonly fingerprint: string | null;
  readonly queue: string;
  readonly typeName: string;
  readonly reason: FailureReason;
  readonly count: number;
  readonly firstFailedAt: number;
  readonly lastFailedAt: number;
  /** The one that failed last, or one of them. */
  readonly exampleId: string;
}

export interface StateCause extends NewCause {
  readonly firstSeenAt: number;
  /** When it was last reported. */
  readonly lastSeenAt: number;
}

/** Causes of failures, with the jobs that share them. */
export interface CauseList {
  /** In no particular order. */
  readonly failed: readonly FailedJobs[];
  /** Those of the fingerprints in `failed` that are known. */
  readonly causes: readonly StateCause[];
  /** Whether more jobs match than were read. */
  readonly capped: boolean;
}

/** Failed jobs by failure cause. `writeReport` stores the causes; outcomes give jobs their fingerprints. */
export interface Causes<TTxContext> {
  listCauses(call: StateRead<TTxContext> & ListCausesCall): Promise<CauseList>;
}

/** A process that has created a Leasehold, as it describes itself. */
export interface ProcessIdentity {
  readonly id: string;
  readonly deployment: string | null;
  readonly startedAt: number;
  /** Its host, versions, workers and their queues and types, as opaque JSON owned by core. */
  readonly info: string;
}

export interface StateProcess extends ProcessIdentity {
  /** When it last reported. */
  readonly seenAt: number;
}

/** The key of a row of counts: one process, one type, one time bucket. */
export interface BucketKey {
  /** The bucket size in milliseconds. */
  readonly bucketMs: number;
  /** Its beginning, a multiple of `bucketMs`. */
  readonly from: number;
  readonly queue: string;
  readonly typeName: string;
  /** Empty for none, since it is part of the key. */
  readonly deployment: string;
  /** Empty for rows that sum up the rows of several processes. */
  readonly processId: string;
}

export interface StatisticsBucket extends BucketKey {
  /** Numbers and histograms, as opaque JSON owned by core. */
  readonly counts: string;
}

/** What a process reports about itself and its work. */
export interface ReportCall {
  readonly reporter: ProcessIdentity;
  /** Absolute numbers, so that the same report again changes nothing. */
  readonly buckets: readonly StatisticsBucket[];
  readonly causes: readonly NewCause[];
  /** Older buckets are dropped: they may have been rolled up already. */
  readonly maxAgeMs: number;
}

/** The arguments for the list of processes. */
export interface ListProcessesCall {
  /** Only processes that have reported since. */
  readonly seenFrom: number;
  readonly limit: number;
}

/** The arguments for reading statistics. */
export interface ReadBucketsCall {
  readonly bucketMs: number;
  /** Rows that begin at this moment or later. */
  readonly from: number;
  /** Rows that begin before this moment. */
  readonly before: number;
  readonly queues?: readonly string[] | undefined;
  readonly typeNames?: readonly string[] | undefined;
  readonly limit: number;
}

/** The arguments for merging statistics into larger time buckets. */
export interface RollUpBucketsCall {
  /** As they were read. */
  readonly remove: readonly StatisticsBucket[];
  readonly put: readonly StatisticsBucket[];
}

/** The arguments for deleting statistics and processes that are too old. */
export interface DeleteOldReportsCall {
  /** Processes whose last report is before this time. */
  readonly processesBefore: number;
  /** Causes that were last reported before this moment, and that no failed job has. */
  readonly causesBefore: number;
  /** Buckets of a size that begin before a time. */
  readonly buckets: readonly { readonly bucketMs: number; readonly before: number }[];
  /** The most rows to delete in all. */
  readonly limit: number;
}

/** Statistics, counted by each process for its own jobs. Jobs run without them. */
export interface Reports<TTxContext> {
  /**
   * Overwrites the rows of the process: its description and the given buckets. Never waits for another transaction. Of a
   * stored cause only `lastSeenAt` changes, unless another transaction is changing it. Returns the store's time.
   */
  writeReport(call: StateCall<TTxContext> & ReportCall): Promise<number>;

  /** The one that reported last comes first. */
  listProcesses(call: StateRead<TTxContext> & ListProcessesCall): Promise<StateProcess[]>;

  /** Ordered by `from`, then by the rest of the key as it is declared, texts by their bytes. */
  readBuckets(call: StateRead<TTxContext> & ReadBucketsCall): Promise<StatisticsBucket[]>;

  /**
   * Replaces rows by others, which may have the keys of rows removed. Does nothing and returns false if a row to remove is
   * gone or has changed, or if a row to put exists. No key is named twice in `remove`, or twice in `put`.
   */
  rollUpBuckets(call: StateCall<TTxContext> & RollUpBucketsCall): Promise<boolean>;

  /** Deletes old rows. Returns how many. */
  deleteOldReports(call: StateCall<TTxContext> & DeleteOldReportsCall): Promise<number>;
}

/**
 * The optional part for what has happened: failed attempts, failure causes and statistics of each process. Jobs run the
 * same without it.
 */
export interface History<TTxContext> extends Attempts<TTxContext>, Causes<TTxContext>, Reports<TTxContext> {}
