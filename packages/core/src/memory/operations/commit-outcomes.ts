import { findRefusal, refuse } from "../../rules/lease-checks.ts";
import type { JobOutcome, LeaseRefusal, OutcomeResult } from "../../contracts/state-adapter.ts";
import { isTerminal, type JobReference, type JobStatus, type StateJob } from "../../model/job.ts";
import { failDependants, unblockDependants } from "../dependants.ts";
import type { JobStore } from "../job-store.ts";
import { completed, failed, givenBack, retried } from "../../rules/transitions.ts";

const statusAfter: Record<JobOutcome["kind"], JobStatus> = {
  complete: "completed",
  retry: "pending",
  giveBack: "pending",
  fail: "failed",
};

const nothing: readonly JobReference[] = [];

const findOutcomeRefusal = (row: StateJob, outcome: JobOutcome, now: number): LeaseRefusal | undefined => {
  if (outcome.leaseToken === null) return isTerminal(row.status) ? refuse("not_running", row) : undefined;
  const refusal = findRefusal(row, outcome.leaseToken, now);
  return refusal?.reason === "lease_expired" && outcome.locked === true ? undefined : refusal;
};

const after = (row: StateJob, outcome: JobOutcome, now: number): StateJob => {
  switch (outcome.kind) {
    case "complete":
      return completed(row, outcome, now);
    case "retry":
      return retried(row, outcome, now);
    case "giveBack":
      return givenBack(row, outcome, now);
    case "fail":
      return failed(row, outcome, now);
  }
};

const commitOutcome = (store: JobStore, outcome: JobOutcome, now: number): OutcomeResult => {
  const record = store.find(outcome.jobId);
  if (record === undefined) return refuse("not_found", undefined);
  const { row } = record;
  const hasItsToken = outcome.leaseToken !== null && row.leaseToken === outcome.leaseToken;
  if (hasItsToken && row.status === statusAfter[outcome.kind]) return { kind: "repeated" };
  const refusal = findOutcomeRefusal(row, outcome, now);
  if (refusal !== undefined) return refusal;

  store.update(record, after(row, outcome, now));
  const sequenceCompleted = outcome.kind === "complete" && outcome.continuedToId === null;
  return {
    kind: "applied",
    at: now,
    unblocked: sequenceCompleted ? unblockDependants(store, row.sequenceId, now) : nothing,
    cascaded: outcome.kind === "fail" ? failDependants(store, row.sequenceId, now) : nothing,
  };
};

export const commitOutcomes = (
  store: JobStore,
  outcomes: readonly JobOutcome[],
  now: number,
): OutcomeResult[] => outcomes.map((outcome) => commitOutcome(store, outcome, now));
