import type { AttemptEventData } from "../contracts/events.ts";
import type { LeaseRefusal } from "../contracts/state-adapter.ts";
import { jobEventData, type Observe } from "../engine/observe.ts";
import { refusalAbortReason } from "../engine/refusal.ts";
import type { JobAbortReason } from "../model/entities.ts";
import { restoreError, toStoredErrorText } from "../model/stored-error.ts";
import type { HeldJob } from "./held-jobs.ts";
import type { WorkerContext } from "./worker-context.ts";

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
