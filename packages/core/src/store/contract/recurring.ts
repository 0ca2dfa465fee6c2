import type { StateCall, StateCallInTransaction } from "./calls.ts";

/** Where a recurring job stands. Core writes all of it; a store only has to find what is due. */
export interface RecurringJobProgress {
  /** The next time by the definition; null when there is none any more. */
  readonly nextNominalAt: number | null;
  /** When to look at it again: the next time with its jitter, or sooner while a run waits; null for never. */
  readonly runsAt: number | null;
  /** The sequence that was started last. It may have been deleted since. */
  readonly lastSequenceId: string | null;
  /** What became of its times so far, as text that only core can read. */
  readonly tickHistory: string;
  /** The version of the time zone data by which `nextNominalAt` was computed; empty if it depends on none. */
  readonly timeZoneVersion: string;
}

export interface NewRecurringJob extends RecurringJobProgress {
  readonly id: string;
  /** Times, policies and the job to be started, as text that only core can read. */
  readonly definition: string;
  /** The program that declared it; null for one that was put at run time. */
  readonly owner: string | null;
  readonly paused: boolean;
  /** Counts the changes that people and programs made. Ticks leave it alone. */
  readonly version: number;
}

export interface StateRecurringJob extends NewRecurringJob {
  readonly createdAt: number;
  /** When it was last put. */
  readonly updatedAt: number;
}

export interface ListRecurringCall {
  readonly limit: number;
  /** The id of the last one of the page before; null for the first page. */
  readonly after: string | null;
  /** Only those of this owner. */
  readonly owner?: string | undefined;
}

export interface LockDueRecurringCall {
  readonly limit: number;
  /** Also those whose zone data is older than this version, but not empty. */
  readonly timeZoneVersion: string | null;
}

export interface DueRecurringJobs {
  /** The time by which they are due. */
  readonly now: number;
  readonly jobs: readonly StateRecurringJob[];
}

export interface AdvancedRecurringJob extends RecurringJobProgress {
  readonly id: string;
}

/**
 * Recurring jobs. A *tick* locks those that are due, creates their jobs and moves them on, in one transaction: either all of
 * it has happened or none. Whoever holds the lock decides, so several workers may tick at once.
 */
export interface Recurring<TTxContext> {
  getRecurring(
    call: StateCall<TTxContext> & { readonly ids: readonly string[] },
  ): Promise<(StateRecurringJob | undefined)[]>;

  /** Up to `limit` of them, in the order of their ids, byte by byte. */
  listRecurring(call: StateCall<TTxContext> & ListRecurringCall): Promise<StateRecurringJob[]>;

  /** How many milliseconds until one that is not paused is due: 0 when one is now, null when none is in sight. */
  nextRecurringIn(call: StateCall<TTxContext>): Promise<number | null>;

  /**
   * Reads one and locks it until the transaction ends, waiting for whoever holds the lock. Locks the id even if there is no
   * recurring job with it: nobody else can put one meanwhile.
   */
  lockRecurring(
    call: StateCallInTransaction<TTxContext> & { readonly id: string },
  ): Promise<StateRecurringJob | undefined>;

  /**
   * Reads and locks up to `limit` that are not paused and whose `runsAt` has come, earliest first. Never waits: those that
   * another transaction has locked are skipped.
   */
  lockDueRecurring(
    call: StateCallInTransaction<TTxContext> & LockDueRecurringCall,
  ): Promise<DueRecurringJobs>;

  /** Stores one under its id, which `lockRecurring` has locked. What was there before is replaced; `createdAt` stays. */
  putRecurring(
    call: StateCallInTransaction<TTxContext> & { readonly job: NewRecurringJob },
  ): Promise<StateRecurringJob>;

  /** Moves on those that this transaction has locked. Ignores ids that do not exist. */
  advanceRecurring(
    call: StateCallInTransaction<TTxContext> & { readonly jobs: readonly AdvancedRecurringJob[] },
  ): Promise<void>;

  /** Removes them, and nothing that they started. Returns the ids of those that were there. */
  deleteRecurring(call: StateCall<TTxContext> & { readonly ids: readonly string[] }): Promise<string[]>;
}
