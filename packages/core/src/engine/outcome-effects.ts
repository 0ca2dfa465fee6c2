import type { JobOutcome, OutcomeResult } from "../contracts/state-adapter.ts";
import type { FailureReason, JobReference, StateJob } from "../model/job.ts";
import { restoreError } from "../model/stored-error.ts";
import type { Effects } from "./effects.ts";
import { jobEventData } from "./observe.ts";

type AppliedResult = Extract<OutcomeResult, { kind: "applied" }>;

/** What the world learns from an outcome that was applied. */
export const announceOutcome = (
  effects: Effects,
  job: StateJob,
  outcome: JobOutcome,
  result: AppliedResult,
): void => {
  if (outcome.kind === "complete") {
    effects.observe("jobCompleted", () => ({
      ...jobEventData(job),
      workerId: outcome.completedBy,
      continuedToId: outcome.continuedToId,
    }));
    effects.observe("jobDuration", () => ({ ...jobEventData(job), durationMs: result.at - job.createdAt }));
    if (outcome.continuedToId === null) {
      effects.sequenceFinished(job.sequenceId);
      effects.observe("jobSequenceCompleted", () => jobEventData(job));
      effects.observe("jobSequenceDuration", () => ({
        ...jobEventData(job),
        durationMs: result.at - job.sequenceCreatedAt,
      }));
    }
  }
  if (outcome.kind === "fail") announceFailure(effects, job, outcome.reason, outcome.error);
  for (const unblocked of result.unblocked) {
    effects.jobScheduled(unblocked.typeName);
    effects.observe("jobUnblocked", () => jobEventData(unblocked));
  }
  announceCascade(effects, result.cascaded);
};

export const announceFailure = (
  effects: Effects,
  job: JobReference,
  reason: FailureReason,
  error: string | null,
): void => {
  effects.sequenceFinished(job.sequenceId);
  effects.observe("jobFailed", () => ({ ...jobEventData(job), reason, error: restoreError(error) }));
  effects.observe("jobSequenceFailed", () => ({ ...jobEventData(job), reason }));
};

export const announceCascade = (effects: Effects, cascaded: readonly JobReference[]): void => {
  for (const job of cascaded) announceFailure(effects, job, "blocker_failed", null);
};
