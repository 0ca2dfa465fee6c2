import type { StateJob } from "../../store/contract/job.ts";
import { isTerminal } from "../../store/contract/job.ts";
import { type Check, short } from "./check.ts";

const finalFields = [
  "status",
  "output",
  "attempt",
  "leaseVersion",
  "completedAt",
  "completedBy",
  "continuedToId",
  "failedAt",
  "failureReason",
  "lastError",
] as const satisfies readonly (keyof StateJob)[];

export const terminalStatesStay: Check = {
  invariant: "5 terminal states never change",
  watch: ({ table, report }) => ({
    onStep: ({ method, changes, result }) => {
      for (const { before, after } of changes) {
        if (!before || !after || !isTerminal(before.status)) continue;
        if (before.status === "failed" && method === "redriveJobs") continue;
        const changed = finalFields.find((field) => before[field] !== after[field]);
        if (changed)
          report(`${method} changed ${changed} of ${short(before.id)}, which was ${before.status}`);
      }
      if (method !== "cancelSequences") return;
      for (const { kind, sequenceId } of result as { kind: string; sequenceId: string }[]) {
        const current = table.current(sequenceId);
        if (kind === "cancelled" && current?.failureReason !== "cancelled") {
          report(`${short(sequenceId)} was reported as cancelled and is ${current?.status}`);
        }
      }
    },
  }),
};
