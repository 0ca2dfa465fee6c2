import type { LeaseholdError } from "../base/errors.ts";
import { restoreError, toStoredErrorText } from "../base/stored-error.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import type { AttemptEventData } from "../observability/events.ts";
import { jobEventData, type Observe } from "../observability/observe.ts";
import type { LeaseRefusal } from "../store/contract/claims.ts";
import { refusalError } from "../store/errors.ts";
import type { WorkerContext } from "./context.ts";
import { type HeldJob, loseLease } from "./held-jobs.ts";

/** A refusal by the store, as the abort reason that a running handler gets. */
export const refusalAbortReason = (refusal: LeaseRefusal): JobAbortReason => {
  if (refusal.reason === "not_found") return "not_found";
  if (refusal.reason === "lease_expired") return "lease_expired";
  if (refusal.status === "completed") return "already_completed";
  if (refusal.status === "failed" && refusal.failureReason === "cancelled") return "cancelled";
  return "taken_by_another_worker";
};

/** Made once for an attempt: several events speak of each. */
export const attemptEventData = ({ settings }: WorkerContext, held: HeldJob): AttemptEventData =>
  (held.eventData ??= {
    workerId: settings.workerId,
    attempt: held.job.attempt,
    ...jobEventData(held.job),
  });

/** A lease is gone, and what for; once, however many find out. Cancelled jobs have an event of their own. */
export const reportLostLease = (
  observe: Observe,
  worker: WorkerContext,
  held: HeldJob,
  reason: JobAbortReason,
): void => {
  if (held.lost !== undefined) return;
  const data = () => attemptEventData(worker, held);
  if (reason === "lease_expired" || reason === "error") observe("jobAttemptLeaseExpired", data);
  if (reason === "taken_by_another_worker") observe("jobAttemptTakenByAnotherWorker", data);
  if (reason === "already_completed") observe("jobAttemptAlreadyCompleted", data);
};

/** The store has refused something because the lease is gone. */
export const reportRefusal = (
  observe: Observe,
  worker: WorkerContext,
  held: HeldJob,
  refusal: LeaseRefusal,
): void => reportLostLease(observe, worker, held, refusalAbortReason(refusal));

/** The store has rolled back a transaction of the handler, which is run again. */
export const reportRepeated = (
  observe: Observe,
  worker: WorkerContext,
  held: HeldJob,
  { operation, run, error }: { operation: string; run: number; error: unknown },
): void =>
  observe("jobAttemptTransactionRepeated", () => ({
    operation,
    run,
    error: restoreError(toStoredErrorText(error)),
    ...attemptEventData(worker, held),
  }));

/** The store has refused an outcome because the lease is gone. */
export const reportFenced = (
  observe: Observe,
  worker: WorkerContext,
  held: HeldJob,
  refusal: LeaseRefusal,
): void => {
  observe("jobAttemptFenced", () => ({ refusal: refusal.reason, ...attemptEventData(worker, held) }));
  reportRefusal(observe, worker, held, refusal);
};

/**
 * The store has refused a call: the lease is lost. Reports the loss, marks the lease as lost, and returns the error for the
 * caller. In this order, because a lease that is marked counts as reported.
 */
export const loseLeaseTo = (
  worker: WorkerContext,
  held: HeldJob,
  refusal: LeaseRefusal,
  report: typeof reportRefusal = reportRefusal,
): LeaseholdError => {
  report(worker.engine.observe, worker, held, refusal);
  loseLease(held, refusalAbortReason(refusal));
  return refusalError(held.job.id, refusal);
};

/** The same for an outcome. After an expiry the committer still tries, is refused too, and reports that. */
export const loseOutcomeTo = (worker: WorkerContext, held: HeldJob, refusal: LeaseRefusal): LeaseholdError =>
  loseLeaseTo(worker, held, refusal, refusal.reason === "lease_expired" ? reportRefusal : reportFenced);
