import { type Check, short } from "./check.ts";

/** The longest pause of a worker's loop after many store errors in a row. */
const longestLoopBackoffMs = 5_000;

export const everythingDrains: Check = {
  invariant: "9 everything drains once faults stop",
  watch: ({ plan, table, report }) => {
    const slowestPollMs = Math.max(...plan.workers.map(({ pollIntervalMs }) => pollIntervalMs));
    const patienceMs = slowestPollMs + plan.leaseMs;
    const recoveryMs = 3 * plan.leaseMs + longestLoopBackoffMs;
    /** From when on nothing excuses a delay any more. */
    let quietSince = Infinity;
    /** When a slot was last taken or freed: with busy workers a job may rightly wait. */
    let lastSlotChange = 0;
    /** Since when each pending job could have been claimed. */
    const runnableSince = new Map<string, number>();

    return {
      onStep: ({ at, changes }) => {
        for (const { before, after } of changes) {
          const { id } = (after ?? before)!;
          if (after?.status === "running" && before?.status === "pending") {
            const waited = at - Math.max(runnableSince.get(id) ?? at, quietSince, lastSlotChange);
            if (waited > patienceMs)
              report(`${short(id)} was runnable for ${waited} ms before anybody claimed it`);
          }
          if (after?.status === "pending") runnableSince.set(id, Math.max(at, after.scheduledAt));
          else runnableSince.delete(id);
        }
      },
      onEvent: (event) => {
        const isLateFault = event.kind === "fault" && quietSince !== Infinity;
        if (event.kind === "calm" || isLateFault) quietSince = event.at + recoveryMs;
        if (event.kind === "slot_taken" || event.kind === "slot_freed") lastSlotChange = event.at;
        if (event.kind !== "end" || event.drained) return;
        for (const { id, typeName, status } of table.rows.values()) {
          if (status === "pending" || status === "running")
            report(`${typeName} ${short(id)} is still ${status}`);
        }
        report("not drained");
      },
    };
  },
};
