import type { StateCall } from "../state-call.ts";

/** How an attempt ended that did not complete its job. `expired`: its worker was gone, and its lease ran out. */
export const attemptOutcomes = ["retry", "fail", "giveBack", "expired"] as const;

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

export interface ListAttemptsCall {
  readonly jobIds: readonly string[];
}

/** How many attempts of one job are kept. */
export const mostAttempts = 20;

/**
 * The attempts that did not complete their job. `commitOutcomes` writes a row for each outcome with a `note`, and
 * `reapExpiredLeases` for each lease that ran out, in the same atomic step. So does the claim that takes over a job from an
 * expired lease, before anybody has reaped it; it knows of no error, so there is none. It may do so for every expired lease
 * that it finds, whether or not it takes the job; if the reaper ends that attempt, or an outcome that came just in time, their
 * row replaces this one. A job that completes at its first attempt has no rows. The latest 20 of a job are kept, and they go
 * when the job goes.
 *
 * The row of a lease that ran out has what the job had: `attempt`, `leaseVersion`, `leasedBy`, `scheduledAt` as `dueAt`,
 * `lastAttemptAt` as `startedAt`, the end of the lease as `endedAt`. Its deployment and its log are not known.
 */
export interface Attempts<TTxContext> {
  /** For each job its attempts, those with the highest `leaseVersion` first. None for a job that does not exist. */
  listAttempts(call: StateCall<TTxContext> & ListAttemptsCall): Promise<StateAttempt[][]>;
}
