import { restoreError } from "../base/stored-error.ts";
import type { AfterCommit } from "../engine/engine.ts";
import type { AttemptEventData, JobEventData } from "../observability/events.ts";
import { isObserved, jobEventData } from "../observability/observe.ts";
import type { FailureReason, JobReference, StateJob } from "../store/contract/job.ts";
import type { JobOutcome, OutcomeResult } from "../store/contract/outcomes.ts";
import { blockerErrorText } from "../store/rules/dependants.ts";

type AppliedResult = Extract<OutcomeResult, { kind: "applied" }>;

/*
 * Events come in one order, whichever way a change was made. docs/observability.md has it for users.
 *
 *   creation     jobSequenceCreated ─▶ jobCreated ─▶ the same of its blockers ─▶ jobBlocked
 *   attempt      jobAttemptCompleted, jobAttemptFailed or jobAttemptRescheduled
 *   ─▶ job       jobCompleted or jobFailed
 *   ─▶ sequence  jobSequenceCompleted or jobSequenceFailed
 *   ─▶ others    jobFailed and jobSequenceFailed of dependants, jobUnblocked
 */

export const announceCreation = (afterCommit: AfterCommit, job: StateJob): void => {
  announceNewJob(afterCommit, job);
  announceFirstStatus(afterCommit, job);
};

/** The first half of `announceCreation`, for a job whose blockers are not yet known. */
export const announceNewJob = (afterCommit: AfterCommit, job: StateJob): void => {
  const { observe } = afterCommit;
  afterCommit.count(job, "created");
  if (job.sequenceIndex === 0) observe("jobSequenceCreated", () => jobEventData(job));
  const { scheduledAt, originId } = job;
  observe("jobCreated", () => ({ scheduledAt, originId, ...jobEventData(job) }));
};

/** The other half: what the status of the new job means for others. */
export const announceFirstStatus = (afterCommit: AfterCommit, job: StateJob): void => {
  if (job.status === "blocked") afterCommit.observe("jobBlocked", () => jobEventData(job));
  // Also for a job that is due later: a worker that sleeps has to learn when to wake.
  if (job.status === "pending") afterCommit.notify("jobScheduled", job.typeName);
  if (job.status === "failed") announceFailure(afterCommit, job, job.failureReason!, job.lastError);
};

/** Reports an outcome that was applied, and notifies of it. `attempt` is that of a worker; none without a worker. */
export const announceOutcome = (
  afterCommit: AfterCommit,
  job: StateJob,
  outcome: JobOutcome,
  result: AppliedResult,
  attempt?: () => AttemptEventData,
): void => {
  if (attempt && isObserved(afterCommit.observe)) reportAttempt(afterCommit, outcome, attempt);
  if (outcome.kind === "complete") {
    afterCommit.count(job, "completed");
    if (outcome.continuedToId === null) afterCommit.notify("jobSequenceCompleted", job.sequenceId);
    if (isObserved(afterCommit.observe))
      reportCompletion(afterCommit, job, outcome, result, attempt ?? (() => jobEventData(job)));
  }
  if (outcome.kind === "fail") {
    announceFailure(afterCommit, job, outcome.reason, outcome.error);
    announceCascade(afterCommit, { ...job, lastError: outcome.error }, result.cascaded);
  }
  for (const unblocked of result.unblocked) {
    afterCommit.notify("jobScheduled", unblocked.typeName);
    afterCommit.observe("jobUnblocked", () => jobEventData(unblocked));
  }
};

const reportAttempt = (
  { observe }: AfterCommit,
  outcome: JobOutcome,
  attempt: () => AttemptEventData,
): void => {
  if (outcome.kind === "complete") observe("jobAttemptCompleted", attempt);
  else if (outcome.kind === "release") {
    if (outcome.schedule) observe("jobAttemptRescheduled", attempt);
  } else {
    const retryInMs =
      outcome.kind === "retry" && "afterMs" in outcome.schedule ? outcome.schedule.afterMs : null;
    observe("jobAttemptFailed", () => ({ error: restoreError(outcome.error), retryInMs, ...attempt() }));
  }
};

const reportCompletion = (
  { observe }: AfterCommit,
  job: StateJob,
  { completedBy, continuedToId }: Extract<JobOutcome, { kind: "complete" }>,
  { at }: AppliedResult,
  data: () => JobEventData,
): void => {
  observe("jobCompleted", () => ({ workerId: completedBy, continuedToId, ...data() }));
  observe("jobDuration", () => ({ durationMs: at - job.createdAt, ...data() }));
  if (continuedToId !== null) return;
  observe("jobSequenceCompleted", data);
  observe("jobSequenceDuration", () => ({ durationMs: at - job.sequenceCreatedAt, ...data() }));
};

export const announceFailure = (
  afterCommit: AfterCommit,
  job: JobReference,
  reason: FailureReason,
  error: string | null,
): void => {
  afterCommit.count(job, reason);
  afterCommit.notify("jobSequenceCompleted", job.sequenceId);
  afterCommit.observe("jobFailed", () => ({ reason, error: restoreError(error), ...jobEventData(job) }));
  afterCommit.observe("jobSequenceFailed", () => ({ reason, ...jobEventData(job) }));
};

/** `failed` is the job that began it. */
export const announceCascade = (
  afterCommit: AfterCommit,
  failed: JobReference & Pick<StateJob, "lastError">,
  cascaded: readonly JobReference[],
): void => {
  if (cascaded.length === 0) return;
  const error = blockerErrorText(failed);
  for (const job of cascaded) announceFailure(afterCommit, job, "blocker_failed", error);
};
