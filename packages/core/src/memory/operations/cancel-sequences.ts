import type { CancelResult } from "../../contracts/state-adapter.ts";
import { failDependants } from "../dependants.ts";
import type { JobStore } from "../job-store.ts";
import { cancelled } from "../../rules/transitions.ts";

const cancelSequence = (store: JobStore, sequenceId: string, error: string, now: number): CancelResult => {
  const record = store.current(sequenceId);
  const unchanged = { sequenceId, job: record?.row ?? null, changed: false, wasRunning: false, cascaded: [] };
  if (record === undefined) return { ...unchanged, kind: "not_found" };
  const { status, failureReason } = record.row;
  if (status === "completed") return { ...unchanged, kind: "already_completed" };
  if (status === "failed")
    return { ...unchanged, kind: failureReason === "cancelled" ? "cancelled" : "already_failed" };
  store.update(record, cancelled(record.row, error, now));
  return {
    sequenceId,
    kind: "cancelled",
    job: record.row,
    changed: true,
    wasRunning: status === "running",
    cascaded: [],
  };
};

export const cancelSequences = (
  store: JobStore,
  { sequenceIds, error }: { readonly sequenceIds: readonly string[]; readonly error: string },
  now: number,
): CancelResult[] => {
  // All that were named are cancelled before any failure spreads: a job named beside its own blocker is `cancelled`
  // whichever of the two comes first.
  const results = sequenceIds.map((sequenceId) => cancelSequence(store, sequenceId, error, now));
  return results.map((result) =>
    result.kind === "cancelled"
      ? { ...result, cascaded: failDependants(store, result.sequenceId, now) }
      : result,
  );
};
