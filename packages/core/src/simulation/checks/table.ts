import type { StateJob } from "../../store/contract/job.ts";
import type { StoreStep } from "../history.ts";
import type { Table } from "./check.ts";

export interface GrowingTable extends Table {
  apply(step: StoreStep): void;
}

/** Builds the store's rows again from the recorded changes. */
export const createTable = (): GrowingTable => {
  const rows = new Map<string, StateJob>();
  const blockers = new Map<string, readonly string[]>();
  const sequences = new Map<string, Map<number, string>>();

  const jobsOf = (sequenceId: string): StateJob[] =>
    [...(sequences.get(sequenceId)?.values() ?? [])]
      .map((id) => rows.get(id))
      .filter((row) => row !== undefined);

  return {
    rows,
    blockers,
    jobsOf,
    current: (sequenceId) => {
      let latest: StateJob | undefined;
      for (const row of jobsOf(sequenceId))
        if (!latest || row.sequenceIndex > latest.sequenceIndex) latest = row;
      return latest;
    },
    apply: ({ method, call, changes }) => {
      for (const { before, after } of changes) {
        if (after === undefined) {
          rows.delete(before!.id);
          sequences.get(before!.sequenceId)?.delete(before!.sequenceIndex);
          continue;
        }
        rows.set(after.id, after);
        if (before !== undefined) continue;
        const sequence = sequences.get(after.sequenceId) ?? new Map<number, string>();
        sequences.set(after.sequenceId, sequence.set(after.sequenceIndex, after.id));
      }
      if (method === "addJobBlockers") {
        blockers.set(call["jobId"] as string, call["blockerSequenceIds"] as readonly string[]);
      }
    },
  };
};
