import { restoreError, toStoredErrorText } from "../base/stored-error.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import { retryDelayMs, type RetryPolicy } from "../job-types/retry-policy.ts";
import { parseSchedule } from "../job-types/settings.ts";
import { FailedResult } from "../jobs/complete.ts";
import type { ScheduleOptions, StateJob } from "../store/contract/job.ts";
import type { JobOutcome } from "../store/contract/outcomes.ts";
import {
  JobTimeoutError,
  ProcessMisuseError,
  RescheduleJobError,
  UnrecoverableJobError,
} from "../store/errors.ts";
import { attemptEventData } from "./attempt-events.ts";
import type { WorkerContext } from "./context.ts";
import type { FailedOutput } from "./handler-api.ts";
import type { HeldJob } from "./held-jobs.ts";

const lease = ({ job, leaseToken }: HeldJob): { jobId: string; leaseToken: string } => ({
  jobId: job.id,
  leaseToken,
});

/**
 * The number of executions a job may have here: what its start asked for, else its handler, else what its type or the
 * instance said when it was started. The operator's limit caps all of them.
 */
export const attemptLimit = ({ handlers, settings }: WorkerContext, job: StateJob): number => {
  const ofHandler = job.maxAttemptsGiven ? undefined : handlers.get(job.typeName)?.maxAttempts;
  return Math.min(ofHandler ?? job.maxAttempts, settings.maxAttempts ?? Infinity);
};

const completeOutcome = (worker: WorkerContext, held: HeldJob, output: string): JobOutcome => ({
  kind: "complete",
  ...lease(held),
  output,
  continuedToId: null,
  completedBy: worker.settings.workerId,
});

/** Releases the job as if it had not been claimed. */
export const releaseOutcome = (held: HeldJob): JobOutcome => ({
  kind: "release",
  ...lease(held),
  schedule: null,
  error: null,
});

export const failOutcome = (
  held: HeldJob,
  reason: Extract<JobOutcome, { kind: "fail" }>["reason"],
  error: unknown,
): JobOutcome => ({ kind: "fail", ...lease(held), reason, error: toStoredErrorText(error) });

/**
 * The stored input does not fit its schema any more, which no further attempt would change. Not the error that the
 * handler throws when it starts or continues with another job whose input is wrong.
 */
export class StoredInputRefused extends Error {
  constructor(cause: unknown) {
    super("The stored input does not fit the schema of its job type.", { cause });
  }
}

/** The store failed with a transient error before the handler was called: that is no attempt. */
export class BlockersUnread extends Error {
  constructor(cause: unknown) {
    super("The blockers of the job could not be read.", { cause });
  }
}

/** Errors that decide about the job: the handler threw them for that, or broke a rule. They are never taken for transient. */
export const isOutcomeError = (error: unknown): boolean =>
  error instanceof RescheduleJobError ||
  error instanceof UnrecoverableJobError ||
  error instanceof ProcessMisuseError;

/** How many claims of a job may have ended at no cost before transient errors of the store count as failed attempts. */
export const mostFreeClaims = 20;

/** Every claim of a job has its own jitter. */
const jitterOf =
  ({ engine }: WorkerContext, { job }: HeldJob) =>
  (): number =>
    engine.runtime.random(`${job.id}/${job.leaseVersion}`);

const releasePolicy: RetryPolicy = { type: "exponential", baseMs: 50, maxMs: 5_000 };

/**
 * The store rolled the attempt back with a transient error: the job goes back as if it had not been claimed. Undefined
 * when that has happened so often that the job itself is the likely reason.
 */
const transientErrorOutcome = (
  worker: WorkerContext,
  held: HeldJob,
  error: unknown,
): (Extract<JobOutcome, { kind: "release" }> & { schedule: { afterMs: number } }) | undefined => {
  const { leaseVersion, attempt } = held.job;
  const freeClaims = leaseVersion - attempt;
  if (freeClaims >= mostFreeClaims) return undefined;
  const info = { attempt: freeClaims + 1, error };
  const afterMs = Math.ceil(retryDelayMs(releasePolicy, info, jitterOf(worker, held)));
  return { kind: "release", ...lease(held), schedule: { afterMs }, error: toStoredErrorText(error) };
};

/**
 * The outcome of an attempt that ended in `error`. An error that several jobs share can be about any of them, so it fails none
 * for good: each is retried alone.
 */
export const errorOutcome = (
  worker: WorkerContext,
  held: HeldJob,
  error: unknown,
  shared = false,
): JobOutcome => {
  try {
    return outcomeByError(worker, held, error, shared);
  } catch (problem) {
    // A reschedule can have invalid values, and what was thrown can itself throw when it is inspected. Then it is a failed
    // attempt, with no further look at the value.
    return failedAttemptOutcome(worker, held, problem);
  }
};

const outcomeByError = (
  worker: WorkerContext,
  held: HeldJob,
  error: unknown,
  shared: boolean,
): JobOutcome => {
  if (error instanceof RescheduleJobError) return rescheduleOutcome(held, error);
  if (error instanceof BlockersUnread) return failedAttemptOutcome(worker, held, error.cause);
  if (shared) return failedAttemptOutcome(worker, held, error);
  if (error instanceof UnrecoverableJobError) return failOutcome(held, "unrecoverable", error);
  if (error instanceof StoredInputRefused) return failOutcome(held, "invalid_input", error.cause);
  return failedAttemptOutcome(worker, held, error);
};

const failedAttemptOutcome = (worker: WorkerContext, held: HeldJob, error: unknown): JobOutcome => {
  const { job } = held;
  if (job.attempt >= attemptLimit(worker, job)) return failOutcome(held, "attempts_exhausted", error);
  const policy =
    worker.handlers.get(job.typeName)?.retry ??
    worker.engine.jobTypes.get(job.typeName).retry ??
    worker.settings.retry ??
    worker.engine.defaults.retry;
  const afterMs = Math.ceil(retryDelayMs(policy, { attempt: job.attempt, error }, jitterOf(worker, held)));
  return { kind: "retry", ...lease(held), schedule: { afterMs }, error: toStoredErrorText(error) };
};

const rescheduleOutcome = (held: HeldJob, error: RescheduleJobError): JobOutcome => ({
  kind: "release",
  ...lease(held),
  schedule: parseSchedule(error.schedule),
  error: error.cause === undefined ? null : toStoredErrorText(error.cause),
});

/**
 * In the place of an output that a batch handler returns: fails this job, and no other. It is retried by its policy, as if
 * a handler of its own had thrown `error`.
 */
export const failJob = (error: unknown): FailedOutput => new FailedResult(error) as unknown as FailedOutput;

/** How a handler ended: it returned, it threw, or it ignored its signal until it was given up on. */
export type Ending =
  | { readonly kind: "returned"; readonly output: string | undefined }
  /** `shared` where several jobs ended in the same error, and only one of them may be the reason. */
  | { readonly kind: "threw"; readonly error: unknown; readonly shared?: boolean }
  | { readonly kind: "abandoned" };

/** The outcome to write; or the handler has completed the job in its transaction; or the lease is lost. */
export type Outcome = JobOutcome | "completed" | "lost";

/** How the calls of `prepare` and `complete` ended. */
export interface EndedSession {
  /** What the first call of `prepare` or `complete` that failed was rejected with. */
  failure(): { readonly error: unknown } | undefined;
  /** The store rolled back for a transient reason, and running the transaction again did not help or was not possible. */
  transientFailure(): { readonly error: unknown } | undefined;
}

export interface EndedAttempt {
  readonly worker: WorkerContext;
  readonly held: HeldJob;
  readonly timeoutMs: number | undefined;
  readonly abortReason: JobAbortReason | undefined;
  /** The transaction of `complete` has completed the job. */
  readonly completed: boolean;
  /** Undefined where the handler has used none of what needs one. */
  readonly session: EndedSession | undefined;
}

// The lease is certainly gone, so there is nothing to record. A lease that has only expired by our own clock is not among
// these: the store decides about it.
const lostForCertain: ReadonlySet<JobAbortReason> = new Set([
  "taken_by_another_worker",
  "already_completed",
  "not_found",
  "cancelled",
]);

export const decideOutcomeOf = (attempt: EndedAttempt, ending: Ending): Outcome => {
  const { abortReason } = attempt;
  if (attempt.completed) {
    reportErrorAfterCompletion(attempt, ending);
    return "completed";
  }
  if (abortReason !== undefined && lostForCertain.has(abortReason)) return "lost";
  return blameStore(attempt, ending) ?? decideOutcome(attempt, ending) ?? "lost";
};

/** What was committed stands; the error is only reported. */
const reportErrorAfterCompletion = ({ worker, held, session }: EndedAttempt, ending: Ending): void => {
  const failed = ending.kind === "threw" ? ending : session?.failure();
  if (!failed) return;
  worker.engine.observe("jobAttemptErrorAfterCompletion", () => ({
    error: restoreError(toStoredErrorText(failed.error)),
    ...attemptEventData(worker, held),
  }));
};

/** Releases the job where the store, not the handler, caused the error: the attempt does not count. */
const blameStore = (
  { worker, held, session, abortReason }: EndedAttempt,
  ending: Ending,
): JobOutcome | undefined => {
  if (ending.kind !== "threw") return undefined;
  const isUnread = ending.error instanceof BlockersUnread;
  if (!isUnread && !session?.transientFailure()) return undefined;
  const error = isUnread ? ending.error.cause : ending.error;
  if (abortReason === "timeout" || abortReason === "shutdown" || isOutcomeError(error)) return undefined;
  const outcome = transientErrorOutcome(worker, held, error);
  if (!outcome) return undefined;
  worker.engine.observe("jobAttemptReleased", () => ({
    error: restoreError(outcome.error),
    retryInMs: outcome.schedule.afterMs,
    ...attemptEventData(worker, held),
  }));
  return outcome;
};

const decideOutcome = (
  { worker, held, abortReason, timeoutMs }: EndedAttempt,
  ending: Ending,
): JobOutcome | undefined => {
  if (abortReason === "timeout") {
    const error = new JobTimeoutError(held.job.id, timeoutMs!);
    if (ending.kind === "threw") error.cause = ending.error;
    return errorOutcome(worker, held, error);
  }
  switch (ending.kind) {
    case "returned":
      return completeOutcome(worker, held, ending.output!);
    case "threw":
      if (abortReason === "shutdown") return releaseOutcome(held);
      return errorOutcome(worker, held, ending.error, ending.shared);
    case "abandoned":
      return abortReason === "shutdown" ? releaseOutcome(held) : undefined;
  }
};

/** Ends the attempt and puts the job back for later. It costs no attempt; `cause` is kept as the job's last error. */
export const rescheduleJob = (schedule: ScheduleOptions, cause?: unknown): never => {
  parseSchedule(schedule);
  throw new RescheduleJobError(schedule, cause === undefined ? undefined : { cause });
};
