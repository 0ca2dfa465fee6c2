import type { StateJob } from "../../store/contract/job.ts";
import { type Check, processOf, short } from "./check.ts";

/** Heartbeats come three times per lease; this leaves room for a slow one. */
const leasesUntilNoticed = 1;

/** A handler whose job was cancelled, completed or given away elsewhere must learn of it through its signal. */
export const lostLeasesAbort: Check = {
  invariant: "a lost lease aborts the handler",
  watch: ({ plan, faultsOf, report }) => {
    const running = new Map<number, { jobId: string; workerId: string; lostAt: number | undefined }>();
    const loses = (before: StateJob, after: StateJob | undefined): boolean =>
      before.status === "running" && (after?.leaseToken !== before.leaseToken || after.status === "failed");

    return {
      onStep: ({ at, method, changes }) => {
        if (method === "commitOutcomes") return;
        for (const { before, after } of changes) {
          if (!before || !loses(before, after)) continue;
          for (const execution of running.values()) {
            if (execution.jobId === before.id && execution.workerId === before.leasedBy)
              execution.lostAt ??= at;
          }
        }
      },
      onEvent: (event) => {
        if (event.kind === "execution_started") running.set(event.execution, { ...event, lostAt: undefined });
        if (event.kind !== "execution_ended") return;
        const execution = running.get(event.execution);
        running.delete(event.execution);
        if (execution?.lostAt === undefined || event.abortReason !== undefined) return;
        const patienceMs = leasesUntilNoticed * plan.leaseMs;
        if (event.at - execution.lostAt <= patienceMs) return;
        if (faultsOf(processOf(execution.workerId), execution.lostAt - 3 * plan.leaseMs, event.at).length > 0)
          return;
        report(
          `${execution.workerId} went on with ${short(execution.jobId)} for ${event.at - execution.lostAt} ms after losing it`,
        );
      },
    };
  },
};
