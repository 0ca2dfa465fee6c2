/** How bad it is: nothing to do, worth a look, or jobs do not run as they should. */
export type FindingStatus = "ok" | "warning" | "problem";

/** What one check came to, in words for people. */
export interface Finding {
  /** What was looked at, such as `indexes`. */
  readonly check: string;
  readonly status: FindingStatus;
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
export type ExaminationDepth = "light" | "usual" | "full";

export interface ExamineCall {
  readonly depth: ExaminationDepth;
  /** From this age on, an open transaction is worth a warning. */
  readonly transactionAgeMs: number;
}

/** The optional part for what only the store can tell about itself. `leasehold doctor` shows it; running jobs needs none of it. */
export interface Diagnostics {
  /**
   * Looks at the database itself: whether its tables and indexes are there, and at what slows it down. Changes nothing. A check
   * that cannot be made is a warning of its own, so this rejects only after `close`. Tables that are missing or too old are a
   * problem of the check `migrations`: then nobody looks at the jobs.
   */
  examine(call: ExamineCall): Promise<readonly Finding[]>;

  /** About how many jobs there are. A store that has to count them stops at `limit`. */
  estimateJobs(call: { readonly limit: number }): Promise<number>;
}
