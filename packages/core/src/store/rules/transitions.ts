import type { ClaimCall, LeaseRenewal, MaxAttempts } from "../contract/claims.ts";
import type { NewJob } from "../contract/creation.ts";
import type { AttemptOutcome, StateAttempt } from "../contract/history.ts";
import type { FailureReason, Schedule, StateJob } from "../contract/job.ts";
import type { JobOutcome } from "../contract/outcomes.ts";
import { mayRunAgain } from "./checks.ts";
import type { BlockerFailure } from "./dependants.ts";

export const immediately: Schedule = { afterMs: 0 };

// The largest date JavaScript can hold.
const latestMs = 8_640_000_000_000_000;

/** At least the current time: `scheduledAt` also orders claims, and a new job must not overtake older ones. */
export const resolveSchedule = (schedule: Schedule, now: number): number =>
  "at" in schedule ? Math.max(schedule.at, now) : Math.min(now + schedule.afterMs, latestMs);

/** The row that a new job becomes: all of it is known without asking the store. */
export const createdStateJob = (job: NewJob, now: number): StateJob => ({
  id: job.id,
  typeName: job.typeName,
  sequenceId: job.sequenceId,
  sequenceTypeName: job.sequenceTypeName,
  sequenceIndex: job.sequenceIndex,
  sequenceCreatedAt: job.sequenceCreatedAt ?? now,
  rootSequenceId: job.rootSequenceId,
  originId: job.originId,
  traceContext: job.traceContext,
  queue: job.queue,
  priority: job.priority,
  status: job.awaitsBlockers ? "blocked" : "pending",
  input: job.input,
  output: null,
  progress: null,
  createdAt: now,
  scheduledAt: resolveSchedule(job.schedule, now),
  attempt: 0,
  maxAttempts: job.maxAttempts,
  maxAttemptsGiven: job.maxAttemptsGiven ?? true,
  timeoutMs: job.timeoutMs,
  expireAfterMs: job.expireAfterMs ?? null,
  leaseMs: job.leaseMs,
  leaseToken: null,
  leaseVersion: 0,
  leasedBy: null,
  deployment: null,
  leasedUntil: null,
  expiredLeases: 0,
  lastAttemptAt: null,
  lastError: null,
  lastFailedAt: null,
  completedAt: null,
  completedBy: null,
  continuedToId: null,
  failedAt: null,
  failureReason: null,
  failedBlockerId: null,
  deduplicationKey: job.deduplication?.key ?? null,
  replacedBy: null,
  onBlockerFailure: job.onBlockerFailure,
  group: job.group,
  ordered: job.ordered,
  limited: false,
  blockerCount: 0,
  openBlockers: 0,
  recurrence: job.recurrence ?? null,
});

/** The row that an outcome writes when it is applied; undefined if none. */
export const attemptOf = ({ kind, note, jobId }: JobOutcome, now: number): StateAttempt | undefined =>
  note === undefined || kind === "complete" ? undefined : { ...note, jobId, outcome: kind, endedAt: now };

const attemptWithoutHolder = (job: StateJob, outcome: AttemptOutcome, endedAt: number): StateAttempt => ({
  jobId: job.id,
  attempt: job.attempt,
  leaseVersion: job.leaseVersion,
  workerId: job.leasedBy ?? "",
  deployment: job.deployment,
  dueAt: job.scheduledAt,
  startedAt: job.lastAttemptAt ?? job.scheduledAt,
  endedAt,
  outcome,
  fingerprint: null,
  error: null,
  log: null,
});

/** The row for a job whose lease has run out, as it was before it was reaped. */
export const expiredAttempt = (job: StateJob): StateAttempt =>
  attemptWithoutHolder(job, "expired", job.leasedUntil ?? job.scheduledAt);

/** The row for a job as it was before its lease was taken from its holder; undefined if it was not running. */
export const interruptedAttempt = (
  job: StateJob,
  by: "cancel" | JobOutcome["kind"],
  now: number,
): StateAttempt | undefined => {
  if (job.status !== "running") return undefined;
  if ((job.leasedUntil ?? 0) <= now) return expiredAttempt(job);
  return attemptWithoutHolder(job, interruptions[by], now);
};

const interruptions = {
  cancel: "cancelled",
  complete: "already_completed",
  retry: "retry",
  release: "release",
  fail: "fail",
} as const satisfies Readonly<Record<"cancel" | JobOutcome["kind"], AttemptOutcome>>;

// The states of a job. Each arrow is a function here that makes the next row from the one before; whether it may be used
// is decided by its caller.
//
//                      created ─┬─ without blockers ──▶ pending
//                               └─ with blockers ─────▶ blocked
//
//   blocked ── withBlockers, withFewerBlockers: none is open any more ──▶ pending
//   pending, running (lease expired) ── claimed ──▶ running
//   running ── retried, released, reaped (attempts left) ──▶ pending
//   running ── completed ──▶ completed
//   running ── failed, reaped (no attempts left) ──▶ failed
//   blocked ── failedByBlocker ──▶ failed
//   blocked, pending, running ── cancelled ──▶ failed
//   pending (never begun) ── expired ──▶ failed
//   blocked, pending ── replaced, updated (waiting-jobs.ts) ──▶ as before
//   failed ── revived ──▶ pending
//
// Wherever it says pending, a job with open blockers becomes blocked instead. Without a worker, `completed`, `failed`,
// `retried` and `released` also apply to jobs that are blocked or pending.

type OutcomeOf<TKind extends JobOutcome["kind"]> = Extract<JobOutcome, { kind: TKind }>;

/** `pending`, unless something is still in the way. */
const waiting = ({ openBlockers }: StateJob): "blocked" | "pending" =>
  openBlockers > 0 ? "blocked" : "pending";

export const claimed = (
  row: StateJob,
  lease: Pick<ClaimCall, "workerId" | "leaseToken" | "leaseMs" | "deployment">,
  now: number,
): StateJob => ({
  ...row,
  status: "running",
  attempt: row.attempt + 1,
  leaseToken: lease.leaseToken,
  leaseVersion: row.leaseVersion + 1,
  leasedBy: lease.workerId,
  deployment: lease.deployment ?? null,
  leasedUntil: now + (row.leaseMs ?? lease.leaseMs),
  // A running job can be claimed only when its lease has expired.
  expiredLeases: row.status === "running" ? row.expiredLeases + 1 : row.expiredLeases,
  lastFailedAt: row.status === "running" ? row.leasedUntil : row.lastFailedAt,
  scheduledAt: row.status === "running" ? (row.leasedUntil ?? row.scheduledAt) : row.scheduledAt,
  lastAttemptAt: now,
});

const completed = (row: StateJob, outcome: OutcomeOf<"complete">, now: number): StateJob => ({
  ...row,
  status: "completed",
  output: outcome.output,
  leaseToken: outcome.leaseToken,
  leasedBy: null,
  leasedUntil: null,
  completedAt: now,
  completedBy: outcome.completedBy,
  continuedToId: outcome.continuedToId,
  limited: false,
});

const retried = (row: StateJob, outcome: OutcomeOf<"retry">, now: number): StateJob => ({
  ...row,
  status: waiting(row),
  scheduledAt: resolveSchedule(outcome.schedule, now),
  leaseToken: outcome.leaseToken,
  leasedBy: null,
  leasedUntil: null,
  expiredLeases: 0,
  lastError: outcome.error,
  lastFailedAt: now,
  limited: false,
});

const released = (row: StateJob, outcome: OutcomeOf<"release">, now: number): StateJob => ({
  ...row,
  status: waiting(row),
  scheduledAt: outcome.schedule === null ? row.scheduledAt : resolveSchedule(outcome.schedule, now),
  // Only a running job has an attempt to give back.
  attempt: row.status === "running" ? row.attempt - 1 : row.attempt,
  expiredLeases: Math.abs(row.expiredLeases),
  leaseToken: outcome.leaseToken,
  leasedBy: null,
  leasedUntil: null,
  lastError: outcome.error ?? row.lastError,
  limited: false,
});

const failed = (row: StateJob, outcome: OutcomeOf<"fail">, now: number): StateJob => ({
  ...withoutLease(row, outcome.leaseToken),
  ...failure(outcome.reason, now),
  expiredLeases: 0,
  lastError: outcome.error,
  lastFailedAt: now,
});

/** The job after an outcome that may be applied. */
export const afterOutcome = (row: StateJob, outcome: JobOutcome, now: number): StateJob => {
  switch (outcome.kind) {
    case "complete":
      return completed(row, outcome, now);
    case "retry":
      return retried(row, outcome, now);
    case "release":
      return released(row, outcome, now);
    case "fail":
      return failed(row, outcome, now);
  }
};

const withoutLease = (row: StateJob, leaseToken: string | null): StateJob => ({
  ...row,
  leaseToken,
  leasedBy: null,
  leasedUntil: null,
  limited: false,
});

const failure = (
  failureReason: FailureReason,
  now: number,
): Pick<StateJob, "status" | "failedAt" | "failureReason"> => ({
  status: "failed",
  failedAt: now,
  failureReason,
});

// The next two end a lease without its holder. They clear the token, so that a late outcome of the holder is refused and not
// mistaken for a repetition.

/** The row after a cancellation. */
export const cancelled = (row: StateJob, error: string, now: number): StateJob => ({
  ...withoutLease(row, null),
  ...failure("cancelled", now),
  lastError: error,
});

/** The row after its expired lease was taken back. */
export const reaped = (
  row: StateJob,
  { error, maxAttempts }: { readonly error: string; readonly maxAttempts?: MaxAttempts | undefined },
  now: number,
): StateJob => {
  const ended = {
    ...withoutLease(row, null),
    expiredLeases: row.expiredLeases + 1,
    lastFailedAt: row.leasedUntil,
  };
  return mayRunAgain(row, maxAttempts)
    ? { ...ended, status: "pending", scheduledAt: row.leasedUntil ?? row.scheduledAt }
    : { ...ended, ...failure("attempts_exhausted", now), lastError: error };
};

/** The row after its lease was extended. */
export const renewed = (
  row: StateJob,
  { leaseMs, progress, lastAttempt }: Pick<LeaseRenewal, "leaseMs" | "progress" | "lastAttempt">,
  now: number,
): StateJob => ({
  ...row,
  leasedUntil: now + leaseMs,
  progress: progress ?? row.progress,
  attempt: lastAttempt ?? row.attempt,
  expiredLeases: lastAttempt === undefined ? row.expiredLeases : 0 - Math.abs(row.expiredLeases),
});

/** The row after the failure of a blocker. */
export const failedByBlocker = (
  row: StateJob,
  { blockerSequenceId, error }: Pick<BlockerFailure<unknown>, "blockerSequenceId" | "error">,
  now: number,
): StateJob => ({
  ...row,
  ...failure("blocker_failed", now),
  failedBlockerId: blockerSequenceId,
  lastError: error,
});

/** The row after it has waited too long. */
export const expired = (row: StateJob, error: string, now: number): StateJob => ({
  ...row,
  ...failure("expired", now),
  lastError: error,
});

/** The row with its blockers. */
export const withBlockers = (row: StateJob, blockerCount: number, openBlockers: number): StateJob => ({
  ...row,
  blockerCount,
  openBlockers,
  status: openBlockers > 0 ? "blocked" : "pending",
});

/** `completedBlockers` more blockers have completed. A job that was failed or cancelled meanwhile only counts down. */
export const withFewerBlockers = (row: StateJob, completedBlockers: number, now: number): StateJob => {
  const openBlockers = Math.max(0, row.openBlockers - completedBlockers);
  return row.status === "blocked" && openBlockers === 0
    ? { ...row, openBlockers, status: "pending", scheduledAt: Math.max(row.scheduledAt, now) }
    : { ...row, openBlockers };
};

/** `from` is the earliest that it may run. */
export const revived = (row: StateJob, from: number): StateJob => ({
  ...row,
  status: waiting(row),
  scheduledAt: Math.max(row.scheduledAt, from),
  attempt: 0,
  expiredLeases: 0,
  failedAt: null,
  failureReason: null,
  failedBlockerId: null,
});

/** The recurring job that started a job, from the text in its row; null for most jobs. */
export const recurringJobIdOf = (recurrence: string | null | undefined): string | null =>
  recurrence == null ? null : (JSON.parse(recurrence) as { readonly id: string }).id;
