import type { StateCall } from "./state-call.ts";

/** The jobs of one type in one queue that have not completed. Each number is counted up to a cap. */
export interface TypeBacklog {
  readonly queue: string;
  readonly typeName: string;
  /** Pending, and their time has come. */
  readonly runnable: number;
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

export interface MeasureBacklogCall {
  readonly cap: number;
}

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
   * that are due or blocked it looks at no more than ten times `cap` each, of the failed ones at those created last. A type whose jobs have all completed is absent.
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
