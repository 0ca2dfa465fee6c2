import type { StateCall } from "./calls.ts";

/** How bad it is: nothing to do, worth a look, or jobs do not run as they should. */
export type CheckStatus = "ok" | "warning" | "problem";

/** What one check came to, in words for people. */
export interface CheckResult {
  /** What was looked at, such as `indexes`. */
  readonly check: string;
  readonly status: CheckStatus;
  readonly summary: string;
  /** What to do about it; absent where all is well. */
  readonly advice?: string | undefined;
  /** Why the check could not be made, as the driver says it. It may contain anything, such as the address of the database. */
  readonly cause?: string | undefined;
}

/**
 * How much the store may do for the answer. `light`: little enough to be asked every few minutes. `usual`: what a person who
 * asks can wait for. `full`: whatever it takes, such as reading every page of a file.
 */
export type CheckDepth = "light" | "usual" | "full";

/** The arguments of `runChecks`. */
export interface RunChecksCall {
  readonly depth: CheckDepth;
  /** From this age on, an open transaction is worth a warning. */
  readonly transactionAgeMs: number;
}

/** The optional part for what only the store can tell about itself. `leasehold doctor` shows it; running jobs needs none of it. */
export interface Diagnostics {
  /**
   * Looks at the database itself: whether its tables and indexes are there, and at what slows it down. Changes nothing. A check
   * that cannot be made is a warning of its own, so this rejects only after `close`. Tables that are missing or too old are a
   * problem of the check `migrations`: then core skips the checks of jobs.
   */
  runChecks(call: RunChecksCall): Promise<readonly CheckResult[]>;

  /** About how many jobs there are. A store that has to count them stops at `limit`. */
  estimateJobs(call: { readonly limit: number }): Promise<number>;
}

/** The jobs of one type in one queue that have not completed. Each number is counted up to a cap. */
export interface TypeBacklog {
  readonly queue: string;
  readonly typeName: string;
  /** Pending and due, and `claimJobs` could take them: neither throttled nor overdue. */
  readonly runnable: number;
  /** Pending and due, but a limit, a rate, a pause or the order of their group delays them (`explainThrottle`). */
  readonly throttled: number;
  /** Pending past `expireAfterMs` (`expiresAt` of the rules): they fail instead of running. */
  readonly overdue: number;
  /** Pending, and scheduled for later. */
  readonly later: number;
  readonly running: number;
  /** The running ones whose lease has expired. */
  readonly expired: number;
  readonly blocked: number;
  readonly failed: number;
  /** Since when the job that has waited longest could have been running; null where none is runnable. */
  readonly oldestRunnableAt: number | null;
}

/** A job that finished recently, for rates and latencies. */
export interface RecentlyFinishedJob {
  readonly queue: string;
  readonly typeName: string;
  readonly status: "completed" | "failed";
  readonly createdAt: number;
  readonly finishedAt: number;
}

/** The arguments of `measureBacklog`. */
export interface MeasureBacklogCall {
  readonly cap: number;
}

/** The arguments of `listRecentlyFinished`. */
export interface ListRecentlyFinishedCall {
  readonly from: number;
  readonly limit: number;
}

/**
 * The optional part for those who watch a store: metrics, the command line, a dashboard. Running jobs needs none of it.
 * Outside a transaction, all of it may be answered from a copy of the store that lags.
 */
export interface Statistics<TTxContext> {
  /**
   * The jobs that have not completed, by queue and type. Reads a bounded number of jobs for each, however many there
   * are: a number that equals `cap` means that many or more. Of running jobs, of failed ones, and of those with a group
   * that are due or blocked it looks at no more than ten times `cap` each, of the failed ones at those created last. A type
   * whose jobs have all completed is absent. Throttled groups are judged one by one, a group by its first `cap` jobs.
   */
  measureBacklog(call: StateCall<TTxContext> & MeasureBacklogCall): Promise<TypeBacklog[]>;

  /**
   * Up to `limit` of the jobs that finished at `from` or later, the latest first. A sample: where finding all of them
   * would need a search, some are missing.
   */
  listRecentlyFinished(
    call: StateCall<TTxContext> & ListRecentlyFinishedCall,
  ): Promise<RecentlyFinishedJob[]>;
}
