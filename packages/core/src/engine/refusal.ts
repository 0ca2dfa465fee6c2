import type { LeaseRefusal } from "../contracts/state-adapter.ts";
import {
  JobAlreadyCompletedError,
  JobAlreadyFailedError,
  JobNotFoundError,
  JobNotRunningError,
  JobTakenByAnotherWorkerError,
  LeaseExpiredError,
  type LeaseholdError,
  LeaseMismatchError,
} from "../errors.ts";
import type { JobAbortReason } from "../model/entities.ts";

/** A refusal by the store, as the abort reason that a running handler gets. */
export const refusalAbortReason = (refusal: LeaseRefusal): JobAbortReason => {
  if (refusal.reason === "not_found") return "not_found";
  if (refusal.reason === "lease_expired") return "lease_expired";
  if (refusal.status === "completed") return "already_completed";
  if (refusal.status === "failed" && refusal.failureReason === "cancelled") return "cancelled";
  return "taken_by_another_worker";
};

/** A refusal by the store, as an error for whoever tried. */
export const refusalError = (jobId: string, refusal: LeaseRefusal): LeaseholdError => {
  switch (refusal.reason) {
    case "not_found":
      return new JobNotFoundError(jobId);
    case "lease_expired":
      return new LeaseExpiredError(jobId);
    case "lease_mismatch":
      return new JobTakenByAnotherWorkerError(jobId, { cause: new LeaseMismatchError(jobId) });
    case "not_running": {
      const cause = new JobNotRunningError(jobId, refusal.status ?? "pending");
      if (refusal.status === "completed") return new JobAlreadyCompletedError(jobId, { cause });
      if (refusal.status === "failed")
        return new JobAlreadyFailedError(jobId, refusal.failureReason, { cause });
      return cause;
    }
  }
};
