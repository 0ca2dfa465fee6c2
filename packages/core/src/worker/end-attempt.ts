import type { JobOutcome, LeaseRefusal, OutcomeResult } from "../contracts/state-adapter.ts";
import type { AfterCommit } from "../engine/after-commit.ts";
import { announceOutcome } from "../engine/announce-outcome.ts";
import { refusalAbortReason } from "../engine/refusal.ts";
import { endLostSpan, endRecordedSpan } from "../engine/trace.ts";
import { restoreError } from "../model/stored-error.ts";
import { attemptEventData, reportFenced } from "./attempt-events.ts";
import type { HeldJob } from "./held-jobs.ts";
import type { WorkerContext } from "./worker-context.ts";

/**
 * What the store made of an attempt:
 *
 * - `completed`: the handler's own transaction has completed the job.
 * - `written`: the committer asked, and this is the answer.
 * - `unwritten`: there was an outcome, and it was given up on.
 * - `lost`: the lease was gone before there was an outcome.
 */
export type AttemptEnd =
  | { readonly kind: "completed" }
  | {
      readonly kind: "written";
      readonly outcome: JobOutcome;
      readonly answer: OutcomeResult;
      readonly afterCommit: AfterCommit;
    }
  | { readonly kind: "unwritten" }
  | { readonly kind: "lost" };

/** The one place where an attempt ends: reports what became of it, ends its span, and lets go of the job. */
export const endAttempt = (worker: WorkerContext, held: HeldJob, end: AttemptEnd): void => {
  switch (end.kind) {
    case "completed":
      countAttempt(worker, held);
      worker.engine.observe("jobAttemptCompleted", () => attemptEventData(worker, held));
      if (held.span) endRecordedSpan(held.span, "completed");
      break;
    case "written":
      endWritten(worker, held, end);
      break;
    case "unwritten":
      if (held.span) endLostSpan(held.span, "lease_expired");
      break;
    case "lost":
      if (held.span) endLostSpan(held.span, null);
      break;
  }
  worker.held.remove(held);
  if (held.job.limited) worker.wakeUps.limitFreed.signal(held.job.typeName);
};

/** One that was given back or refused without having begun is no attempt. */
const countAttempt = ({ engine }: WorkerContext, { job, ranMs }: HeldJob): void => {
  if (ranMs === undefined) return;
  engine.tally.addAttempt(job, job.lastAttemptAt! - job.scheduledAt, ranMs);
};

const endWritten = (
  worker: WorkerContext,
  held: HeldJob,
  { outcome, answer, afterCommit }: AttemptEnd & { kind: "written" },
): void => {
  switch (answer.kind) {
    case "applied":
      announceOutcome(afterCommit, held.job, outcome, answer, () => attemptEventData(worker, held));
      if (held.span) endRecordedSpan(held.span, outcome);
      reportApplied(worker, held, outcome, afterCommit);
      break;
    case "repeated":
      if (held.span) endRecordedSpan(held.span, outcome);
      break;
    case "refused":
      if (held.span) endLostSpan(held.span, refusalAbortReason(answer));
      reportRefused(worker, held, answer, afterCommit);
      break;
  }
};

const reportApplied = (
  worker: WorkerContext,
  held: HeldJob,
  outcome: JobOutcome,
  { observe, count }: AfterCommit,
): void => {
  const data = () => attemptEventData(worker, held);
  countAttempt(worker, held);
  if (outcome.kind === "complete") {
    observe("jobAttemptCompleted", data);
    return;
  }
  if (outcome.kind === "giveBack") count(held.job, "givenBack");
  if (outcome.kind === "retry") count(held.job, "retried");
  if (outcome.kind === "giveBack" && outcome.schedule) observe("jobAttemptRescheduled", data);
  if (outcome.kind === "retry" || outcome.kind === "fail") {
    const retryInMs =
      outcome.kind === "retry" && "afterMs" in outcome.schedule ? outcome.schedule.afterMs : null;
    observe("jobAttemptFailed", () => ({ error: restoreError(outcome.error), retryInMs, ...data() }));
  }
  const schedule = outcome.kind === "fail" ? undefined : outcome.schedule;
  if (schedule && "afterMs" in schedule) worker.wakeUps.runnableIn.signal(schedule.afterMs);
};

const reportRefused = (
  worker: WorkerContext,
  held: HeldJob,
  refusal: LeaseRefusal,
  afterCommit: AfterCommit,
): void => {
  reportFenced(afterCommit.observe, worker, held, refusal);
  // It may be our own completion whose answer was lost, and with it the notification.
  if (refusal.status === "completed") afterCommit.notify("sequenceFinished", held.job.sequenceId);
};
