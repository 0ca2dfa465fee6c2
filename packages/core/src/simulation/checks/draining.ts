import { type Check, short } from "./check.ts";

/** What a worker adds to a lease at the longest: the pause of a loop after many store errors, and its jitter. */
const longestLoopBackoffMs = 5_000;

export const everythingDrains: Check = {
  invariant: "9 everything drains once faults stop",
  watch: ({ plan, table, report }) => {
    let quietSince = Infinity;
    const slowestPollMs = Math.max(...plan.workers.map(({ pollIntervalMs }) => pollIntervalMs));
    const patienceMs = slowestPollMs + plan.leaseMs;
    /** Since when each job could have been claimed. */
    const runnableSince = new Map<string, number>();
    let slotsFullUntil = 0;
    const taken = new Map<string, number>();
    const limits = new Map<string, number>();

    return {
      onStep: ({ at, changes }) => {
        for (const { before, after } of changes) {
          const id = (after ?? before)!.id;
          if (after?.status === "pending") runnableSince.set(id, Math.max(at, after.scheduledAt));
          else if (after?.status === "running") {
            const since = runnableSince.get(id);
            const from = Math.max(since ?? Infinity, quietSince, slotsFullUntil);
            if (before?.status === "pending" && at - from > patienceMs) {
              report(`${short(id)} was runnable for ${at - from} ms before anybody claimed it`);
            }
            runnableSince.set(id, after.leasedUntil!);
          } else runnableSince.delete(id);
        }
      },
      onEvent: (event) => {
        if (event.kind === "calm") quietSince = event.at + 3 * plan.leaseMs + longestLoopBackoffMs;
        if (event.kind === "fault" && quietSince !== Infinity)
          quietSince = event.at + 3 * plan.leaseMs + longestLoopBackoffMs;
        if (event.kind === "worker_started") limits.set(event.workerId, event.limits.concurrency);
        if (event.kind === "slot_taken" || event.kind === "slot_freed") {
          taken.set(
            event.workerId,
            (taken.get(event.workerId) ?? 0) + (event.kind === "slot_taken" ? 1 : -1),
          );
          // With a busy worker a job may rightly wait; the clock starts again.
          slotsFullUntil = event.at;
        }
        if (event.kind === "end" && !event.drained) {
          for (const row of table.rows.values()) {
            if (row.status === "pending" || row.status === "running")
              report(`${row.typeName} ${short(row.id)} is still ${row.status}`);
          }
          report("not drained");
        }
      },
    };
  },
};
