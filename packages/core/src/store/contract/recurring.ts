import type { StateCall, StateCallInTransaction } from "./calls.ts";

/** The state of a recurring job between ticks. Core computes it; a store only has to find the due ones. */
export interface RecurringJobProgress {
  /** The next time by the definition; null when there is none any more. */
  readonly nextNominalAt: number | null;
  /** When the next tick handles it: the next time with its jitter, or sooner while a run waits; null for never. */
  readonly runsAt: number | null;
  /** The sequence that was started last. It may have been deleted since. */
  readonly lastSequenceId: string | null;
  /** The runs started and skipped so far, as opaque JSON owned by core. */
  readonly tickHistory: string;
  /** The version of the time zone data by which `nextNominalAt` was computed; empty if it depends on none. */
  readonly timeZoneVersion: string;
  /** When `nextNominalAt` was computed, by the store's clock. In the future if the clock has been set back since. */
  readonly computedAt: number;
}

/** How far the store's clock may go back without a consequence for recurring jobs. */
export const clockToleranceMs = 60_000;

export interface NewRecurringJob extends RecurringJobProgress {
  readonly id: string;
  /** Times, policies and the job to be started, as opaque JSON owned by core. */
  readonly definition: string;
  /** The program that declared it; null for one that was put at run time. */
  readonly owner: string | null;
  readonly paused: boolean;
  /** Raised by every put, pause and resume. Ticks do not change it. */
  readonly version: number;
}

export interface StateRecurringJob extends NewRecurringJob {
  readonly createdAt: number;
  /** When it was last put. */
  readonly updatedAt: number;
}

/** The arguments for a page of recurring jobs. */
export interface ListRecurringCall {
  readonly limit: number;
  /** The id of the last one of the page before; null for the first page. */
  readonly after: string | null;
  /** Only recurring jobs of this owner. */
  readonly owner?: string | undefined;
}

/** The arguments for locking recurring jobs that are due. */
export interface LockDueRecurringCall {
  readonly limit: number;
  /**
   * Null for what is due only. Otherwise also recurring jobs whose next time has to be computed anew: by zone data that are
   * older than this version but not empty, or with a `computedAt` more than `clockToleranceMs` after the present.
   */
  readonly timeZoneVersion: string | null;
}

/** Recurring jobs that are due, locked by the transaction that asked. */
export interface DueRecurringJobs {
  /** The time by which they are due. */
  readonly now: number;
  readonly jobs: readonly StateRecurringJob[];
}

export interface AdvancedRecurringJob extends RecurringJobProgress {
  readonly id: string;
}

/**
 * Recurring jobs. A *tick* locks due recurring jobs, creates their jobs and advances them, in one transaction. Only the
 * transaction that holds the lock decides about a recurring job, so several workers may tick at once.
 *
 * A store whose transactions conflict instead of waiting (`capabilities.conflicts`) rolls one of two lock holders back.
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
   * Reads these and locks them until the transaction ends. Waits for other holders of the locks. Locks an id even if there is
   * no recurring job with it: no other transaction can put one meanwhile. Two calls with several ids do not deadlock.
   */
  lockRecurring(
    call: StateCallInTransaction<TTxContext> & { readonly ids: readonly string[] },
  ): Promise<(StateRecurringJob | undefined)[]>;

  /**
   * Reads and locks up to `limit` that are not paused and whose `runsAt` has come, earliest first. Never waits: skips
   * recurring jobs that another transaction has locked.
   */
  lockDueRecurring(
    call: StateCallInTransaction<TTxContext> & LockDueRecurringCall,
  ): Promise<DueRecurringJobs>;

  /**
   * Stores these under their ids, which `lockRecurring` has locked, and no id twice. Replaces earlier ones, except for
   * `createdAt`.
   */
  putRecurring(
    call: StateCallInTransaction<TTxContext> & { readonly jobs: readonly NewRecurringJob[] },
  ): Promise<StateRecurringJob[]>;

  /** Writes the progress of recurring jobs that this transaction has locked. Ignores ids that do not exist. */
  advanceRecurring(
    call: StateCallInTransaction<TTxContext> & { readonly jobs: readonly AdvancedRecurringJob[] },
  ): Promise<void>;

  /** Deletes recurring jobs, and no job that they started. Returns the ids that existed. */
  deleteRecurring(call: StateCall<TTxContext> & { readonly ids: readonly string[] }): Promise<string[]>;
}
