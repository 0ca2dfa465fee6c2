import type { JobOutcome, ReapCall, StateAttempt } from "../contracts/state-adapter.ts";
import type { StateJob } from "../model/job.ts";

/** The row that an outcome writes when it is applied; undefined if none. */
export const attemptOf = ({ kind, note, jobId }: JobOutcome, now: number): StateAttempt | undefined =>
  note === undefined || kind === "complete" ? undefined : { ...note, jobId, outcome: kind, endedAt: now };

/** The row for a job whose lease has run out, as it was before anybody took it back. A claim does not know the error. */
export const expiredAttempt = (
  job: StateJob,
  reap?: Pick<ReapCall, "error" | "fingerprint">,
): StateAttempt => ({
  jobId: job.id,
  attempt: job.attempt,
  leaseVersion: job.leaseVersion,
  workerId: job.leasedBy ?? "",
  deployment: null,
  dueAt: job.scheduledAt,
  startedAt: job.lastAttemptAt ?? job.scheduledAt,
  endedAt: job.leasedUntil ?? job.scheduledAt,
  outcome: "expired",
  fingerprint: reap?.fingerprint ?? null,
  error: reap?.error ?? null,
  log: null,
});
