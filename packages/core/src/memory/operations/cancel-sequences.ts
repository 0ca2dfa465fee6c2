import type { CancelCall, CancelResult } from "../../store/contract/outcomes.ts";
import { checkCancellation } from "../../store/rules/checks.ts";
import { cancelled } from "../../store/rules/transitions.ts";
import { failDependants } from "../dependants.ts";
import type { JobStore } from "../job-store.ts";

const cancelSequence = (store: JobStore, sequenceId: string, error: string, now: number): CancelResult => {
  const record = store.current(sequenceId);
  const unchanged = checkCancellation(sequenceId, record?.row);
  if (record === undefined || unchanged !== undefined) return unchanged!;
  const wasRunning = record.row.status === "running";
  store.update(record, cancelled(record.row, error, now));
  return { sequenceId, kind: "cancelled", job: record.row, changed: true, wasRunning, cascaded: [] };
};

export const cancelSequences = (
  store: JobStore,
  { sequenceIds, error }: CancelCall,
  now: number,
): CancelResult[] => {
  // All that were named are cancelled before any failure spreads: a job named beside its own blocker is `cancelled`
  // whichever of the two comes first.
  const results = sequenceIds.map((sequenceId) => cancelSequence(store, sequenceId, error, now));
  return results.map((result) =>
    result.changed ? { ...result, cascaded: failDependants(store, result.sequenceId, now) } : result,
  );
};
