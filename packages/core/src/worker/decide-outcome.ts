import type { JobOutcome } from "../contracts/state-adapter.ts";
import { ProcessMisuseError, RescheduleJobError, UnrecoverableJobError } from "../errors.ts";
import type { StateJob } from "../model/job.ts";
import { isInstance } from "../model/option-checks.ts";
import { retryDelayMs, type RetryPolicy } from "../model/retry-policy.ts";
import { parseSchedule } from "../model/parse-schedule.ts";
import { toStoredErrorText } from "../model/stored-error.ts";
import type { HeldJob } from "./held-jobs.ts";
import type { WorkerContext } from "./worker-context.ts";

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

export const completeOutcome = (worker: WorkerContext, held: HeldJob, output: string): JobOutcome => ({
  kind: "complete",
  ...lease(held),
  output,
  continuedToId: null,
  completedBy: worker.settings.workerId,
});

/** Back to the queue as if it had not been claimed. */
export const giveBackOutcome = (held: HeldJob): JobOutcome => ({
  kind: "giveBack",
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
 * The stored input does not fit its schema any more, which no further attempt would change. Told apart from what the
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
export const isVerdict = (error: unknown): boolean =>
  isInstance(error, RescheduleJobError) ||
  isInstance(error, UnrecoverableJobError) ||
  isInstance(error, ProcessMisuseError);

/** How many claims of a job may have ended at no cost before transient errors of the store count as failed attempts. */
export const mostFreeClaims = 20;
const giveBackPolicy: RetryPolicy = { type: "exponential", baseMs: 50, maxMs: 5_000 };

/**
 * The store rolled the attempt back with a transient error: the job goes back as if it had not been claimed. Undefined
 * when that has happened so often that the job itself is the likely reason.
 */
export const transientErrorOutcome = (
  worker: WorkerContext,
  held: HeldJob,
  error: unknown,
): (Extract<JobOutcome, { kind: "giveBack" }> & { schedule: { afterMs: number } }) | undefined => {
  const { leaseVersion, attempt } = held.job;
  const freeClaims = leaseVersion - attempt;
  if (freeClaims >= mostFreeClaims) return undefined;
  const { random } = worker.engine.runtime;
  const afterMs = Math.ceil(retryDelayMs(giveBackPolicy, { attempt: freeClaims + 1, error }, random));
  return { kind: "giveBack", ...lease(held), schedule: { afterMs }, error: toStoredErrorText(error) };
};

/**
 * What becomes of a job whose attempt ended in `error`. One that several jobs share can be about any of them, so it is the
 * end of none: each is tried again, alone.
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
  const afterMs = Math.ceil(
    retryDelayMs(policy, { attempt: job.attempt, error }, worker.engine.runtime.random),
  );
  return { kind: "retry", ...lease(held), schedule: { afterMs }, error: toStoredErrorText(error) };
};

const rescheduleOutcome = (held: HeldJob, error: RescheduleJobError): JobOutcome => ({
  kind: "giveBack",
  ...lease(held),
  schedule: parseSchedule(error.schedule),
  error: error.cause === undefined ? null : toStoredErrorText(error.cause),
});
