import { restoreError } from "../base/stored-error.ts";
import type { AfterCommit } from "../engine/engine.ts";
import type { JobEventData } from "../observability/events.ts";
import { isObserved, jobEventData } from "../observability/observe.ts";
import type { FailureReason, JobReference, StateJob } from "../store/contract/job.ts";
import type { JobOutcome, OutcomeResult } from "../store/contract/outcomes.ts";
import { blockerErrorText } from "../store/rules/dependants.ts";

type AppliedResult = Extract<OutcomeResult, { kind: "applied" }>;

/** What the world learns from an outcome that was applied. `data` is for who has the job's event data at hand. */
export const announceOutcome = (
  afterCommit: AfterCommit,
  job: StateJob,
  outcome: JobOutcome,
  result: AppliedResult,
  data: () => JobEventData = () => jobEventData(job),
): void => {
  if (outcome.kind === "complete") {
    afterCommit.count(job, "completed");
    if (outcome.continuedToId === null) afterCommit.notify("jobSequenceCompleted", job.sequenceId);
    if (isObserved(afterCommit.observe)) reportCompletion(afterCommit, job, outcome, result, data);
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
