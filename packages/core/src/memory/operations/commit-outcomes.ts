import type { JobOutcome, OutcomeResult } from "../../contracts/state-adapter.ts";
import type { JobReference, StateJob } from "../../model/job.ts";
import { completesSequence, judgeOutcome } from "../../rules/outcomes.ts";
import { completed, failed, givenBack, retried } from "../../rules/transitions.ts";
import { failDependants, unblockDependants } from "../dependants.ts";
import type { JobStore } from "../job-store.ts";
import { stopGroup } from "./resume-group.ts";

const nothing: readonly JobReference[] = [];

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
  const rejection = judgeOutcome(record?.row, outcome, now);
  if (record === undefined || rejection !== undefined) return rejection!;

  const { sequenceId } = record.row;
  store.update(record, after(record.row, outcome, now));
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
