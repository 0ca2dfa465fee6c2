import type { ClaimRequest, ClaimScope, LeaseRefusal, MaxAttempts } from "../contract/claims.ts";
import { isTerminal, type JobStatus, type StateJob } from "../contract/job.ts";
import type { CancelResult, JobOutcome } from "../contract/outcomes.ts";
import { InvalidLeaseDurationError } from "../errors.ts";

/** What is stored as the error of a job that has waited too long. */
export const expiredError = (): Error =>
  Object.assign(new Error("The job waited longer than `expireAfterMs` for its first attempt."), {
    name: "JobExpiredError",
  });

/** Whether a job that was just claimed for its first attempt had waited too long by then, by the store's clock. */
export const hadExpired = ({
  expireAfterMs,
  attempt,
  scheduledAt,
  lastAttemptAt,
}: Pick<StateJob, "expireAfterMs" | "attempt" | "scheduledAt" | "lastAttemptAt">): boolean =>
  expireAfterMs !== null && attempt === 1 && (lastAttemptAt ?? 0) >= scheduledAt + expireAfterMs;

/** Whether a job whose lease has expired may be claimed again by a call with these overrides. */
export const hasAttemptsLeft = (
  { typeName, attempt, maxAttempts, maxAttemptsGiven }: StateJob,
  overrides: MaxAttempts | undefined,
): boolean => {
  const isOverridden = !maxAttemptsGiven && overrides !== undefined && Object.hasOwn(overrides, typeName);
  return attempt < (isOverridden ? overrides[typeName]! : maxAttempts);
};

/** Why cancelling a sequence changes nothing, by its current job; undefined when the job is to be cancelled. */
export const checkCancellation = (
  sequenceId: string,
  job: StateJob | undefined,
): CancelResult | undefined => {
  const kind = kindUnchanged(job);
  return kind && { sequenceId, kind, job: job ?? null, changed: false, wasRunning: false, cascaded: [] };
};

const kindUnchanged = (job: StateJob | undefined): CancelResult["kind"] | undefined => {
  if (job === undefined) return "not_found";
  if (job.status === "completed") return "already_completed";
  if (job.status !== "failed") return undefined;
  return job.failureReason === "cancelled" ? "cancelled" : "already_failed";
};

const covers = ({ queue, typeNames }: ClaimScope, job: StateJob): boolean =>
  queue === job.queue && (typeNames === null || typeNames.includes(job.typeName));

/**
 * What is left of the limit of each request of a repeated claim. A job that its token holds counts against the first
 * request that covers it and has room. The limit of the call is the caller's to reduce.
 */
export const remainingLimits = (requests: readonly ClaimRequest[], held: readonly StateJob[]): number[] => {
  const free = requests.map(({ limit }) => limit);
  for (const job of held) {
    const index = requests.findIndex((request, position) => covers(request, job) && free[position]! > 0);
    if (index >= 0) free[index]! -= 1;
  }
  return free;
};

// Who may change a job is decided in the same way in every store. Only where that is enforced differs.

/** The part of a job that decides. */
export type LeaseState = Pick<StateJob, "status" | "leaseToken" | "leasedUntil" | "failureReason">;

export const assertLeaseDuration = (leaseMs: unknown): void => {
  if (typeof leaseMs !== "number" || !Number.isFinite(leaseMs) || leaseMs <= 0) {
    throw new InvalidLeaseDurationError(leaseMs);
  }
};

export const refuse = (reason: LeaseRefusal["reason"], state: LeaseState | undefined): LeaseRefusal => ({
  kind: "refused",
  reason,
  status: state?.status ?? null,
  failureReason: state?.failureReason ?? null,
});

/** What stops the holder of this token from touching the job; undefined when nothing does. */
export const findRefusal = (state: LeaseState, leaseToken: string, now: number): LeaseRefusal | undefined => {
  if (state.status !== "running") return refuse("not_running", state);
  if (state.leaseToken !== leaseToken) return refuse("lease_mismatch", state);
  if (state.leasedUntil === null || state.leasedUntil <= now) return refuse("lease_expired", state);
  return undefined;
};

/** The status of a job after an outcome, unless it still waits for blockers. */
const statusAfter: Readonly<Record<JobOutcome["kind"], JobStatus>> = {
  complete: "completed",
  retry: "pending",
  release: "pending",
  fail: "failed",
};

/** Why an outcome changes nothing. */
export type OutcomeRejection = LeaseRefusal | { readonly kind: "repeated" };

/** Whether the outcome may be applied to the job: undefined when it may, or else the result it gets. */
export const checkOutcome = (
  state: LeaseState | undefined,
  outcome: JobOutcome,
  now: number,
): OutcomeRejection | undefined => {
  if (state === undefined) return refuse("not_found", undefined);
  const { leaseToken } = outcome;
  if (leaseToken === null) return isTerminal(state.status) ? refuse("not_running", state) : undefined;
  // The row keeps the token under which its attempt ended.
  if (state.leaseToken === leaseToken && state.status === statusAfter[outcome.kind])
    return { kind: "repeated" };
  const refusal = findRefusal(state, leaseToken, now);
  // The row lock protects the lease until the transaction commits.
  return refusal?.reason === "lease_expired" && outcome.locked === true ? undefined : refusal;
};

/** Whether the sequence has completed with this: then the jobs it blocked have one open blocker less. */
export const completesSequence = (outcome: JobOutcome): boolean =>
  outcome.kind === "complete" && outcome.continuedToId === null;

/**
 * From when on a call with these overrides can claim a job: its scheduled time, or the end of its lease.
 * Undefined when it cannot be claimed as it is. This is the definition; stores with indexes state it in their own terms.
 */
export const runnableFrom = (row: StateJob, maxAttempts?: MaxAttempts): number | undefined => {
  if (row.status === "pending") return row.scheduledAt;
  const canExpire = row.status === "running" && row.leasedUntil !== null;
  return canExpire && hasAttemptsLeft(row, maxAttempts) ? row.leasedUntil : undefined;
};
