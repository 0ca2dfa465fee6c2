import { InvalidLeaseDurationError } from "../errors.ts";
import type { StateJob } from "../model/job.ts";
import type { LeaseRefusal } from "../contracts/state-adapter.ts";

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
