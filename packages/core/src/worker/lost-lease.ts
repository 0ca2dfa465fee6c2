import type { LeaseRefusal } from "../contracts/state-adapter.ts";
import { refusalAbortReason, refusalError } from "../engine/refusal.ts";
import type { LeaseholdError } from "../errors.ts";
import { reportFenced, reportRefusal } from "./attempt-events.ts";
import { type HeldJob, loseLease } from "./held-jobs.ts";
import type { WorkerContext } from "./worker-context.ts";

/**
 * The store has refused something: the lease is lost. Reports that, and returns the error for whoever tried. It is reported
 * before it is marked: what is marked counts as reported.
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
