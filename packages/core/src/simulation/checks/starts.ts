import type { DeletionResult } from "../../store/contract/creation.ts";
import { type Check, short } from "./check.ts";

export const acknowledgedStartsSurvive: Check = {
  invariant: "1 acknowledged starts are never lost",
  watch: ({ table, report }) => {
    const deleted = new Set<string>();

    /** A tree goes as a whole, or not at all. */
    const checkTrees = (result: DeletionResult): void => {
      const roots = new Set(result.deleted.map(({ rootSequenceId }) => rootSequenceId));
      for (const row of table.rows.values()) {
        if (roots.has(row.rootSequenceId)) report(`${short(row.id)} is left of a tree that was deleted`);
      }
    };
    return {
      onStep: ({ method, changes, result }) => {
        if (method === "deleteSequences") checkTrees(result as DeletionResult);
        for (const { before, after } of changes) {
          if (after !== undefined) continue;
          deleted.add(before!.id);
          if (method !== "deleteSequences" && method !== "pruneSequences") {
            report(`job ${short(before!.id)} vanished with ${method}`);
          }
        }
      },
      onEvent: (event) => {
        // A job that is deleted before the start is repeated cannot be recognised.
        if (event.kind === "start_refused" && deleted.size === 0)
          report(`a start was refused for its own earlier try`);
        if (event.kind !== "acknowledged") return;
        for (const id of event.jobIds) {
          if (!table.rows.has(id) && !deleted.has(id))
            report(`the start of ${short(id)} was confirmed, but it is not stored`);
        }
      },
    };
  },
};

export const rolledBackStartsNeverRun: Check = {
  invariant: "2 rolled-back starts never run",
  watch: ({ table, report }) => {
    const undone = new Set<string>();
    return {
      onEvent: (event) => {
        if (event.kind === "anomaly") report(event.description);
        if (event.kind === "rolled_back")
          for (const id of event.createdIds) if (!table.rows.has(id)) undone.add(id);
        if (event.kind === "applied") for (const id of undone) if (table.rows.has(id)) undone.delete(id);
        if (event.kind === "execution_started" && undone.has(event.jobId)) {
          report(`job ${short(event.jobId)} runs although its start was rolled back`);
        }
      },
    };
  },
};
