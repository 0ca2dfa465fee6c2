import type { StoredError } from "../model/stored-error.ts";

/**
 * How an attempt ended.
 *
 * - `completed`: its job is done.
 * - `retried`: it failed, and the job is to run again.
 * - `failed`: it failed, and with it the job.
 * - `given_back`: it was ended early with an error that did not count, as by a worker that stops.
 * - `expired`: its worker was gone, and its lease ran out.
 */
export type JobAttemptOutcome = "completed" | "retried" | "failed" | "given_back" | "expired";

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
  /** A short form of the error; null if there was none, or it is not known. */
  readonly error: StoredError | null;
  /** The same for errors of the same kind. */
  readonly fingerprint: string | null;
  /** The last lines that the handler logged. */
  readonly log: readonly JobLogLine[];
}
