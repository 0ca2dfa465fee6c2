import type { JobOutcome, LeaseRefusal } from "../contracts/state-adapter.ts";
import { isTerminal, type JobStatus } from "../model/job.ts";
import { findRefusal, type LeaseState, refuse } from "./lease-checks.ts";

/** The status of a job after an outcome, unless it still waits for blockers. */
const statusAfter: Readonly<Record<JobOutcome["kind"], JobStatus>> = {
  complete: "completed",
  retry: "pending",
  giveBack: "pending",
  fail: "failed",
};

/** Why an outcome changes nothing. */
export type OutcomeRejection = LeaseRefusal | { readonly kind: "repeated" };

/** Whether the outcome may be applied to the job: undefined when it may, or else the result it gets. */
export const judgeOutcome = (
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
