import { describe, LeaseholdError } from "../base/errors.ts";
import type { LeaseRefusal } from "./contract/claims.ts";
import type { FailureReason, JobStatus, ScheduleOptions } from "./contract/job.ts";

/** A lease must last longer than zero milliseconds. */
export class InvalidLeaseDurationError extends LeaseholdError {
  readonly leaseMs: unknown;
  constructor(leaseMs: unknown) {
    super(
      "InvalidLeaseDuration",
      `A lease must last a positive number of milliseconds; received ${describe(leaseMs)}.`,
    );
    this.leaseMs = leaseMs;
  }
}

/** There is no job of this id. */
export class JobNotFoundError extends LeaseholdError {
  readonly id: string;
  constructor(id: string, what: "job" | "job sequence" = "job") {
    super("JobNotFound", `There is no ${what} with id ${describe(id)}. It may have been deleted.`);
    this.id = id;
  }
}

/** A new job has an id that another job has. */
export class JobAlreadyExistsError extends LeaseholdError {
  readonly ids: readonly string[];
  constructor(ids: readonly string[]) {
    super(
      "JobAlreadyExists",
      `A job with id ${ids.slice(0, 5).map(describe).join(", ")} already exists. If this was a retry, the first try went through.`,
    );
    this.ids = ids;
  }
}

/** The job is not running, so its lease cannot be renewed and no outcome can be recorded. */
export class JobNotRunningError extends LeaseholdError {
  readonly jobId: string;
  readonly status: JobStatus;
  constructor(jobId: string, status: JobStatus) {
    super("JobNotRunning", `Job ${jobId} is not running; it is ${status}.`);
    this.jobId = jobId;
    this.status = status;
  }
}

/** The job runs under a newer lease. */
export class LeaseMismatchError extends LeaseholdError {
  readonly jobId: string;
  constructor(jobId: string) {
    super("LeaseMismatch", `Job ${jobId} runs under another lease.`);
    this.jobId = jobId;
  }
}

/** The lease on the job had expired before the call. */
export class LeaseExpiredError extends LeaseholdError {
  readonly jobId: string;
  constructor(jobId: string) {
    super("LeaseExpired", `The lease on job ${jobId} has run out.`);
    this.jobId = jobId;
  }
}

/** Another worker has claimed the job since. */
export class JobTakenByAnotherWorkerError extends LeaseholdError {
  readonly jobId: string;
  constructor(jobId: string, options?: ErrorOptions) {
    super("JobTakenByAnotherWorker", `Job ${jobId} was taken over under a newer lease.`, options);
    this.jobId = jobId;
  }
}

/** The job has completed already. */
export class JobAlreadyCompletedError extends LeaseholdError {
  readonly jobId: string;
  constructor(jobId: string, options?: ErrorOptions) {
    super("JobAlreadyCompleted", `Job ${jobId} was already completed.`, options);
    this.jobId = jobId;
  }
}

/** The job is in `failed` and was expected not to be. Redrive it first. */
export class JobAlreadyFailedError extends LeaseholdError {
  readonly jobId: string;
  readonly reason: FailureReason | null;
  constructor(jobId: string, reason: FailureReason | null, options?: ErrorOptions) {
    super(
      "JobAlreadyFailed",
      `Job ${jobId} has failed (${reason ?? "unknown"}). Redrive it to run it again.`,
      options,
    );
    this.jobId = jobId;
    this.reason = reason;
  }
}

/** A call that needs a transaction got a context that is not in one. */
export class StateNotInTransactionError extends LeaseholdError {
  constructor(operation: string, contextKeys: readonly string[] = [], undefinedKeys: readonly string[] = []) {
    const list = (keys: readonly string[]): string => keys.map(describe).join(", ");
    const problem =
      undefinedKeys.length > 0
        ? `${operation} was given ${list(undefinedKeys)} with the value undefined, so it would run outside any transaction. `
        : `${operation} was given ${list(contextKeys)}, which is neither one of its options nor an open transaction context. `;
    super(
      "StateNotInTransaction",
      contextKeys.length === 0
        ? `${operation} needs a transaction.`
        : `${problem}Pass the context that runInTransaction hands out, or none at all.`,
    );
  }
}

/** A store call was made without its context from inside an open transaction that it would have to wait for. */
export class TransactionSelfDeadlockError extends LeaseholdError {
  constructor(operation: string) {
    super(
      "TransactionSelfDeadlock",
      `${operation} was called inside a transaction without that transaction's context, and would wait for it without end. Pass the context.`,
    );
  }
}

/** The adapter was used after `close`. */
export class AdapterClosedError extends LeaseholdError {
  constructor(adapter: string) {
    super("AdapterClosed", `The ${adapter} is closed.`);
  }
}

/** The state adapter does not offer an optional part of its contract that the operation needs. */
export class StorePartMissingError extends LeaseholdError {
  readonly part: string;
  readonly operation: string;
  constructor(part: string, operation: string, offeredBy: readonly string[]) {
    super(
      "StorePartMissing",
      `${operation} needs the part \`${part}\` of the state adapter, which this adapter does not offer. Adapters that do: ${offeredBy.join(", ")}.`,
    );
    this.part = part;
    this.operation = operation;
  }
}

/**
 * A call on the limits of a job type names no queue, the process has no settings of the type, and the store does not show one
 * queue that it could mean. Nothing was written.
 */
export class QueueRequiredError extends LeaseholdError {
  readonly typeName: string;
  /** The queues with jobs of this type or with a rule for it. */
  readonly queues: readonly string[];
  constructor(typeName: string, queues: readonly string[]) {
    const shown = queues.slice(0, 10).map((queue) => JSON.stringify(queue));
    const more = queues.length > shown.length ? ` and ${queues.length - shown.length} more` : "";
    super(
      "QueueRequired",
      `Which queue of job type ${describe(typeName)} is meant? It is in the queues ${shown.join(", ")}${more}: pass \`queue\`.`,
    );
    this.typeName = typeName;
    this.queues = queues;
  }
}

/** A limit rule or a recurring job has another version than `expectedVersion`. Nothing was written. */
export class VersionMismatchError extends LeaseholdError {
  /** Which rule or recurring job it is. */
  readonly what: string;
  readonly expected: number;
  /** 0 if there is none. */
  readonly actual: number;
  constructor(what: string, expected: number, actual: number) {
    const found = actual === 0 ? "does not exist" : `has version ${actual}`;
    super(
      "VersionMismatch",
      `The ${what} ${found}, but version ${expected} was expected. Read it again before you change it.`,
    );
    this.what = what;
    this.expected = expected;
    this.actual = actual;
  }
}

/** A store call did not answer in time. Whether it took effect is unknown. */
export class StoreCallTimeoutError extends LeaseholdError {
  readonly operation: string;
  readonly deadlineMs: number;
  constructor(operation: string, deadlineMs: number) {
    super("StoreCallTimeout", `The store did not answer ${operation} within ${deadlineMs} ms.`);
    this.operation = operation;
    this.deadlineMs = deadlineMs;
  }
}

/** A notify adapter or its broker did not answer in time. Workers find jobs by polling meanwhile. */
export class NotifyTimeoutError extends LeaseholdError {
  readonly operation: string;
  readonly timeoutMs: number;
  constructor(operation: string, timeoutMs: number) {
    super("NotifyTimeout", `${operation} took longer than ${timeoutMs} ms.`);
    this.operation = operation;
    this.timeoutMs = timeoutMs;
  }
}

/** The sequence did not finish within the time that the caller would wait. */
export class WaitForJobSequenceCompletionTimeoutError extends LeaseholdError {
  readonly sequenceId: string;
  readonly timeoutMs: number;
  constructor(sequenceId: string, timeoutMs: number) {
    super(
      "WaitForJobSequenceCompletionTimeout",
      `Job sequence ${sequenceId} did not finish within ${timeoutMs} ms.`,
    );
    this.sequenceId = sequenceId;
    this.timeoutMs = timeoutMs;
  }
}

/** The awaited sequence failed. `cause` is the error of the job that failed. */
export class JobSequenceFailedError extends LeaseholdError {
  readonly sequenceId: string;
  readonly jobId: string;
  readonly reason: FailureReason;
  constructor(sequenceId: string, jobId: string, reason: FailureReason, cause: unknown) {
    super("JobSequenceFailed", `Job sequence ${sequenceId} failed: ${reason}.`, { cause });
    this.sequenceId = sequenceId;
    this.jobId = jobId;
    this.reason = reason;
  }
}

/** The blockers of a job would, directly or through others, wait for the job's own sequence. */
export class BlockerCycleError extends LeaseholdError {
  readonly jobId: string;
  readonly sequenceIds: readonly string[];
  constructor(jobId: string, sequenceIds: readonly string[]) {
    super(
      "BlockerCycle",
      `Job ${jobId} would wait for itself through ${sequenceIds.map(describe).join(" → ")}.`,
    );
    this.jobId = jobId;
    this.sequenceIds = sequenceIds;
  }
}

/** Jobs of another tree wait for a sequence that was to be deleted. */
export class JobSequenceHasDependantsError extends LeaseholdError {
  /** Root sequences outside the deletion whose jobs are blocked by sequences inside it. */
  readonly dependantRootSequenceIds: readonly string[];
  constructor(dependantRootSequenceIds: readonly string[]) {
    super(
      "JobSequenceHasDependants",
      `Other job sequences depend on these: ${dependantRootSequenceIds.slice(0, 5).join(", ")}. Delete them in the same call.`,
    );
    this.dependantRootSequenceIds = dependantRootSequenceIds;
  }
}

/** A sequence that was to be deleted belongs to a larger tree. */
export class JobSequenceNotRootError extends LeaseholdError {
  readonly ids: readonly string[];
  constructor(ids: readonly string[]) {
    super(
      "JobSequenceNotRoot",
      `Only whole trees can be deleted, by the id of their root sequence; ${ids.slice(0, 5).map(describe).join(", ")} is not a root.`,
    );
    this.ids = ids;
  }
}

/** There is no recurring job with this id. */
export class RecurringJobNotFoundError extends LeaseholdError {
  readonly id: string;
  constructor(id: string) {
    super(
      "RecurringJobNotFound",
      `There is no recurring job with id ${describe(id)}. \`recurring.list\` returns the existing ones.`,
    );
    this.id = id;
  }
}

/** The store refuses the job that a recurring job would start. Nothing was put. `cause` is the error of the store. */
export class RecurringJobRefusedError extends LeaseholdError {
  readonly id: string;
  constructor(id: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : describe(cause);
    super(
      "RecurringJobRefused",
      `The recurring job ${describe(id)} was not put, because the store refuses its job: ${reason}`,
      { cause },
    );
    this.id = id;
  }
}

/** Two programs declare a recurring job under the same id. */
export class RecurringJobOwnedByOtherError extends LeaseholdError {
  readonly id: string;
  readonly owner: string;
  constructor(id: string, owner: string, declaredBy: string) {
    super(
      "RecurringJobOwnedByOther",
      `The recurring job ${describe(id)} belongs to ${describe(owner)} and cannot be declared by ${describe(declaredBy)}, too. Give one of them another id, or delete the recurring job first.`,
    );
    this.id = id;
    this.owner = owner;
  }
}

/** The job types have no such name, or it cannot be started from outside. */
export class UnknownJobTypeError extends LeaseholdError {
  readonly typeName: string;
  constructor(typeName: string, problem = "is not defined") {
    super("UnknownJobType", `Job type ${describe(typeName)} ${problem}.`);
    this.typeName = typeName;
  }
}

/** A handler used `prepare`, `complete` or `continueWith` in a way that is not allowed. */
export class ProcessMisuseError extends LeaseholdError {
  constructor(message: string) {
    super("ProcessMisuse", message);
  }
}

/** The attempt is over (see `reason`), so what the handler still does has no effect. */
export class JobAttemptEndedError extends LeaseholdError {
  readonly jobId: string;
  readonly reason: string;
  constructor(jobId: string, reason: string, options?: ErrorOptions) {
    super("JobAttemptEnded", `The attempt at job ${jobId} has ended: ${reason}.`, options);
    this.jobId = jobId;
    this.reason = reason;
  }
}

/** A handler ran longer than its `timeoutMs`. */
export class JobTimeoutError extends LeaseholdError {
  readonly jobId: string;
  readonly timeoutMs: number;
  constructor(jobId: string, timeoutMs: number) {
    super("JobTimeout", `Job ${jobId} ran longer than its timeout of ${timeoutMs} ms.`);
    this.jobId = jobId;
    this.timeoutMs = timeoutMs;
  }
}

/** Throw it in a handler to fail the job at once, without further attempts. */
export class UnrecoverableJobError extends LeaseholdError {
  constructor(message: string, options?: ErrorOptions) {
    super("UnrecoverableJob", message, options);
  }
}

/** Puts the job back for later without counting a failure. Thrown by `rescheduleJob`. */
export class RescheduleJobError extends LeaseholdError {
  readonly schedule: ScheduleOptions;
  constructor(schedule: ScheduleOptions, options?: ErrorOptions) {
    super("RescheduleJob", "The job asked to be run again later.", options);
    this.schedule = schedule;
  }
}

/** A refusal by the store, as an error for the caller. */
export const refusalError = (jobId: string, refusal: LeaseRefusal): LeaseholdError => {
  switch (refusal.reason) {
    case "not_found":
      return new JobNotFoundError(jobId);
    case "lease_expired":
      return new LeaseExpiredError(jobId);
    case "lease_mismatch":
      return new JobTakenByAnotherWorkerError(jobId, { cause: new LeaseMismatchError(jobId) });
    case "not_running": {
      const cause = new JobNotRunningError(jobId, refusal.status ?? "pending");
      if (refusal.status === "completed") return new JobAlreadyCompletedError(jobId, { cause });
      if (refusal.status === "failed")
        return new JobAlreadyFailedError(jobId, refusal.failureReason, { cause });
      return cause;
    }
  }
};
