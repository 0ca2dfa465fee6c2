import type { StoredError } from "../base/stored-error.ts";
import type { OneOrMany } from "../jobs/filter.ts";
import type { FailureReason } from "../store/contract/job.ts";

/**
 * How an attempt ended.
 *
 * - `completed`: its job is done.
 * - `retried`: it failed, and the job is to run again.
 * - `failed`: it failed, and with it the job.
 * - `released`: it ended without counting: its handler rescheduled the job, its worker stopped, or the store failed.
 * - `expired`: its worker was gone, and its lease ran out.
 * - `cancelled`: the job was cancelled while it ran.
 * - `already_completed`: the job was completed from outside while it ran.
 */
export type JobAttemptOutcome =
  | "completed"
  | "retried"
  | "failed"
  | "released"
  | "expired"
  | "cancelled"
  | "already_completed";

/** A line that a handler wrote with `log`. */
export interface JobLogLine {
  readonly at: Date;
  readonly text: string;
  /** Undefined where none was given. */
  readonly data?: unknown;
}

/** One attempt to run a job that has ended. */
export interface JobAttempt {
  /** Which attempt of the job it was, as `job.attempt` counts. After a redrive it counts from 1 again. */
  readonly attempt: number;
  readonly outcome: JobAttemptOutcome;
  readonly workerId: string;
  /** That of the process; see `createLeasehold({ deployment })`. Null if it is not known. */
  readonly deployment: string | null;
  /** From when on the job could have run. */
  readonly dueAt: Date;
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** A short form of the error; null if there was none. */
  readonly error: StoredError | null;
  /** The same for errors of the same kind. */
  readonly fingerprint: string | null;
  /** The last lines that the handler logged. */
  readonly log: readonly JobLogLine[];
}

/** The argument of `history.listCauses`. */
export interface ListFailureCausesOptions<TTypeName extends string> {
  readonly queue?: OneOrMany<string> | undefined;
  readonly typeName?: OneOrMany<TTypeName> | undefined;
  readonly group?: OneOrMany<string> | undefined;
  readonly recurringJobId?: OneOrMany<string> | undefined;
  /** How many failed jobs to look at, the latest first; at most 100,000. Default: 10,000. */
  readonly scanLimit?: number | undefined;
  /**
   * Size of a time bucket of `trend`, in milliseconds: how many jobs failed in each. At least 60,000. Default: no
   * trend.
   */
  readonly everyMs?: number | undefined;
}

/** What failed jobs have in common. */
export interface FailureCause<TJobId extends string = string> {
  /** For the filter `fingerprint`. Null for jobs that failed without an error of a handler, such as cancelled ones. */
  readonly fingerprint: string | null;
  /** The name of the error. */
  readonly name: string | null;
  /** Its message, with placeholders for what differs from one to the next: `#` for ids and numbers. */
  readonly message: string | null;
  /** The function and file that it came from. */
  readonly frame: string | null;
  /** When an attempt first ended with it, and in which deployment; null where that is not known. */
  readonly firstSeenAt: Date | null;
  readonly firstDeployment: string | null;
  /** How many failed jobs there are. */
  readonly count: number;
  readonly firstFailedAt: Date;
  readonly lastFailedAt: Date;
  /** The job that failed last. */
  readonly exampleId: TJobId;
  /** The same jobs by when they failed, the earliest first, if `everyMs` was given. Stretches without any are left out. */
  readonly trend?: readonly { readonly from: Date; readonly count: number }[];
  /** The same jobs by queue, type and reason. */
  readonly jobs: readonly {
    readonly queue: string;
    readonly typeName: string;
    readonly reason: FailureReason;
    readonly count: number;
    readonly lastFailedAt: Date;
  }[];
}

/** A page of causes of failures. */
export interface FailureCauseListing<TJobId extends string = string> {
  /** Those with the most jobs first. */
  readonly causes: readonly FailureCause<TJobId>[];
  /** Whether there are more failed jobs than were looked at. */
  readonly capped: boolean;
}

/** A process that has started jobs or workers in the last day. */
export interface LeaseholdProcess {
  readonly id: string;
  /**
   * Whether it has reported within the last minute, and has not closed its Leasehold. With workers that sleep, within their
   * `idleSleepMs` and a minute.
   */
  readonly alive: boolean;
  /** Whether it has closed its Leasehold. One with workers that is neither alive nor closed has gone silent. */
  readonly closed: boolean;
  readonly deployment: string | null;
  readonly startedAt: Date;
  /** When it last reported. */
  readonly seenAt: Date;
  readonly host: string;
  readonly pid: number;
  readonly nodeVersion: string;
  /** Null where it is not known, such as in a bundle. */
  readonly leaseholdVersion: string | null;
  readonly workers: readonly {
    readonly id: string;
    readonly concurrency: number;
    readonly queues: readonly {
      readonly name: string;
      readonly concurrency: number;
      readonly claimAllTypes: boolean;
    }[];
    readonly typeNames: readonly string[];
    /** How many jobs it ran when it last reported. */
    readonly running: number;
    /** How long it may send no report while it is idle; 0 without `idleSleepMs`. */
    readonly idleSleepMs: number;
  }[];
}

/** The argument of `history.getStatistics`. */
export interface GetStatisticsOptions<TTypeName extends string> {
  readonly from: Date;
  /** Default: now. */
  readonly before?: Date | undefined;
  readonly queue?: OneOrMany<string> | undefined;
  readonly typeName?: OneOrMany<TTypeName> | undefined;
  /**
   * Rows for each stretch of so many milliseconds, at least 10,000. Counts are kept for 10 seconds each for an hour, then
   * for minutes, and after two days for hours, so a shorter stretch shows them in lumps. Default: one row for all of the time.
   */
  readonly everyMs?: number | undefined;
  /** Whether types have rows of their own. Without, the percentiles are those of all jobs of a queue. Default: true. */
  readonly byType?: boolean | undefined;
  /** Whether deployments have rows of their own. Default: false. */
  readonly byDeployment?: boolean | undefined;
}

/** Below which half of all lie, 95 of a hundred, and 99. Estimates from a histogram with steps of √2. */
export interface EstimatedPercentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** What processes have counted for the jobs of one type in one queue. */
export interface JobStatistics<TTypeName extends string | null = string> {
  readonly from: Date;
  readonly before: Date;
  /** Empty for queues beyond the first thousand that a process had in ten seconds. */
  readonly queue: string;
  /** Null with `byType: false`. */
  readonly typeName: TTypeName;
  /** Null for none, and without `byDeployment`. */
  readonly deployment: string | null;
  readonly created: number;
  readonly completed: number;
  readonly failed: number;
  readonly failedByReason: Readonly<Record<FailureReason, number>>;
  /** Attempts that failed and are tried again. */
  readonly retried: number;
  /** Jobs that went back to their queue without an attempt being counted. */
  readonly released: number;
  /** Leases that ran out. */
  readonly reaped: number;
  readonly perSecond: { readonly created: number; readonly completed: number; readonly failed: number };
  /** In milliseconds; null where no attempt has ended. */
  readonly estimated: {
    /** From when jobs could have run until they were claimed. */
    readonly timeToStartMs: EstimatedPercentiles | null;
    /** How long handlers ran. */
    readonly runTimeMs: EstimatedPercentiles | null;
  };
}
