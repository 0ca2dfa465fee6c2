import type { JobOutcome, OutcomeResult } from "../../store/contract/outcomes.ts";
import type { JobReference } from "../../store/contract/job.ts";
import { attemptOf } from "../../store/rules/transitions.ts";
import { completesSequence, checkOutcome } from "../../store/rules/checks.ts";
import { afterOutcome } from "../../store/rules/transitions.ts";
import { failDependants, unblockDependants } from "../dependants.ts";
import { recordAttempt } from "../job-history.ts";
import type { JobStore } from "../job-store.ts";
import { stopGroup } from "./resume-group.ts";

const nothing: readonly JobReference[] = [];

const commitOutcome = (store: JobStore, outcome: JobOutcome, now: number): OutcomeResult => {
  const record = store.find(outcome.jobId);
  const rejection = checkOutcome(record?.row, outcome, now);
  if (record === undefined || rejection !== undefined) return rejection!;

  const { sequenceId } = record.row;
  store.update(record, afterOutcome(record.row, outcome, now));
  const attempt = attemptOf(outcome, now);
  if (attempt !== undefined) recordAttempt(store, record, attempt);
  if (outcome.kind === "fail") stopGroup(store, record.row);
  return {
    kind: "applied",
    at: now,
    unblocked: completesSequence(outcome) ? unblockDependants(store, sequenceId, now) : nothing,
    cascaded: outcome.kind === "fail" ? failDependants(store, sequenceId, now) : nothing,
  };
};

export const commitOutcomes = (
  store: JobStore,
  outcomes: readonly JobOutcome[],
  now: number,
): OutcomeResult[] => outcomes.map((outcome) => commitOutcome(store, outcome, now));
