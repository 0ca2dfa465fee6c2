import { InvalidOptionError } from "../../base/errors.ts";
import type { ClaimRequest, ClaimScope, LeaseRefusal, MaxAttempts } from "../contract/claims.ts";
import type { NewJob } from "../contract/creation.ts";
import { isTerminal, type JobStatus, type StateJob } from "../contract/job.ts";
import type { CancelResult, JobOutcome } from "../contract/outcomes.ts";
import { InvalidLeaseDurationError } from "../errors.ts";

/** Every store refuses an empty id before it stores anything. */
export const assertIdsGiven = (jobs: readonly Pick<NewJob, "id">[]): void => {
  for (const { id } of jobs)
    if (id === "") throw new InvalidOptionError("id", "must be a text that is not empty", id);
};

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

const limitOf = (
  { typeName, maxAttempts, maxAttemptsGiven }: StateJob,
  overrides: MaxAttempts | undefined,
): number => {
  const isOverridden = !maxAttemptsGiven && overrides !== undefined && Object.hasOwn(overrides, typeName);
  return isOverridden ? overrides[typeName]! : maxAttempts;
};

/** Whether a job whose lease has expired may be claimed again by a call with these overrides. */
export const hasAttemptsLeft = (row: StateJob, overrides: MaxAttempts | undefined): boolean =>
  row.attempt < limitOf(row, overrides);

/** Reading a job may be what takes the process down, for instance by its size. So there is a limit. */
export const mostFreeExpiries = 10;

/**
 * Whether a running job has its last attempt still to come. `expiredLeases` is negative once it has begun (see `LeaseRenewal`).
 * A claim whose attempt never begins raises both `attempt` and, when its lease expires, `expiredLeases`. So while there are
 * more of these than attempts beyond the limit, the last attempt has not begun.
 */
export const isOwedAttempt = ({ attempt, expiredLeases }: StateJob, limit: number): boolean =>
  expiredLeases > attempt - limit && attempt - limit <= mostFreeExpiries;

/** Whether a job whose lease has expired becomes pending and not failed. */
export const mayRunAgain = (row: StateJob, overrides: MaxAttempts | undefined): boolean =>
  hasAttemptsLeft(row, overrides) || isOwedAttempt(row, limitOf(row, overrides));

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

/** Throws `InvalidLeaseDurationError` unless this is a positive number. */
export const assertLeaseDuration = (leaseMs: unknown): void => {
  if (typeof leaseMs !== "number" || !Number.isFinite(leaseMs) || leaseMs <= 0) {
    throw new InvalidLeaseDurationError(leaseMs);
  }
};

/** The answer to a call with a lease that is no longer valid. */
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

/** What decides, besides the job itself, whether it can be deleted when it completes. */
export interface JobTies {
  /** Another job has the same root. */
  readonly hasDescendants: boolean;
  /** A job was given its sequence as a blocker. */
  readonly hasDependants: boolean;
}

/**
 * Whether a job that completes with `keep: false` is deleted. Nothing else may refer to it: no other job of its tree, no job
 * that waits or has waited for it, no deduplication key. It also has nothing that would have to be deleted with it: blockers,
 * earlier attempts, a place in a group, a slot of a limit. Stores with indexes state this in their own terms.
 */
export const isDiscardable = (
  job: Pick<
    StateJob,
    "id" | "rootSequenceId" | "deduplicationKey" | "blockerCount" | "leaseVersion" | "group" | "limited"
  >,
  ties?: JobTies,
): boolean =>
  job.id === job.rootSequenceId &&
  job.deduplicationKey === null &&
  job.blockerCount === 0 &&
  job.leaseVersion === 1 &&
  job.group === null &&
  !job.limited &&
  ties?.hasDescendants !== true &&
  ties?.hasDependants !== true;

/** Whether the outcome asks the store to delete the job. An outcome without a worker never does. */
export const asksToDiscard = (outcome: JobOutcome): boolean =>
  outcome.kind === "complete" &&
  outcome.keep === false &&
  outcome.continuedToId === null &&
  outcome.leaseToken !== null;

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
