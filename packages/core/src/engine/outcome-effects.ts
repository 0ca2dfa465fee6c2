import type { JobEventData } from "../contracts/events.ts";
import type { JobOutcome, OutcomeResult } from "../contracts/state-adapter.ts";
import type { FailureReason, JobReference, StateJob } from "../model/job.ts";
import { blockerErrorText } from "../model/blocker-error.ts";
import { restoreError } from "../model/stored-error.ts";
import type { Effects } from "./effects.ts";
import { jobEventData, observeNothing } from "./observe.ts";

type AppliedResult = Extract<OutcomeResult, { kind: "applied" }>;

/** What the world learns from an outcome that was applied. `data` is for who has the job's event data at hand. */
export const announceOutcome = (
  effects: Effects,
  job: StateJob,
  outcome: JobOutcome,
  result: AppliedResult,
  data: () => JobEventData = () => jobEventData(job),
): void => {
  if (outcome.kind === "complete") {
    if (outcome.continuedToId === null) effects.sequenceFinished(job.sequenceId);
    if (effects.observe !== observeNothing) reportCompletion(effects, job, outcome, result, data);
  }
  if (outcome.kind === "fail") {
    announceFailure(effects, job, outcome.reason, outcome.error);
    announceCascade(effects, { ...job, lastError: outcome.error }, result.cascaded);
  }
  for (const unblocked of result.unblocked) {
    effects.jobScheduled(unblocked.typeName);
    effects.observe("jobUnblocked", () => jobEventData(unblocked));
  }
};

const reportCompletion = (
  { observe }: Effects,
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
  effects: Effects,
  job: JobReference,
  reason: FailureReason,
  error: string | null,
): void => {
  effects.sequenceFinished(job.sequenceId);
  effects.observe("jobFailed", () => ({ reason, error: restoreError(error), ...jobEventData(job) }));
  effects.observe("jobSequenceFailed", () => ({ reason, ...jobEventData(job) }));
};

/** `failed` is the job that began it. */
export const announceCascade = (
  effects: Effects,
  failed: JobReference & Pick<StateJob, "lastError">,
  cascaded: readonly JobReference[],
): void => {
  if (cascaded.length === 0) return;
  const error = blockerErrorText(failed);
  for (const job of cascaded) announceFailure(effects, job, "blocker_failed", error);
};
