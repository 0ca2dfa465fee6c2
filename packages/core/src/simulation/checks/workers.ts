import { type Check, processOf, short } from "./check.ts";

export const limitsHold: Check = {
  invariant: "concurrency limits hold",
  watch: ({ report }) => {
    const limits = new Map<string, { concurrency: number; queues: Readonly<Record<string, number>> }>();
    const taken = new Map<string, number>();
    const change = (key: string, by: number): number => {
      const count = (taken.get(key) ?? 0) + by;
      taken.set(key, count);
      return count;
    };
    return {
      onEvent: (event) => {
        if (event.kind === "worker_started") limits.set(event.workerId, event.limits);
        if (event.kind !== "slot_taken" && event.kind !== "slot_freed") return;
        const call = `${event.workerId} call ${event.call}`;
        const attempts = change(call, event.kind === "slot_taken" ? 1 : -1);
        // The first attempt of a call takes its slot, and the last one to end frees it.
        if (attempts !== (event.kind === "slot_taken" ? 1 : 0)) return;
        const by = event.kind === "slot_taken" ? 1 : -1;
        const { concurrency, queues } = limits.get(event.workerId)!;
        const inAll = change(event.workerId, by);
        const inQueue = change(`${event.workerId} ${event.queue}`, by);
        if (inAll > concurrency) report(`${event.workerId} makes ${inAll} calls with ${concurrency} slots`);
        if (inQueue < 0) report(`${event.workerId} freed a slot twice`);
        const queueLimit = queues[event.queue] ?? concurrency;
        if (inQueue > queueLimit)
          report(
            `${event.workerId} makes ${inQueue} calls for queue ${event.queue}, whose limit is ${queueLimit}`,
          );
      },
    };
  },
};

export const stoppedWorkersHoldNothing: Check = {
  invariant: "a stopped worker holds no lease",
  watch: ({ plan, table, faultsOf, report }) => ({
    onEvent: (event) => {
      if (event.kind !== "worker_stopped") return;
      if (faultsOf(processOf(event.workerId), event.since - 3 * plan.leaseMs, event.at).length > 0) return;
      for (const row of table.rows.values()) {
        if (row.status === "running" && row.leasedBy === event.workerId)
          report(`${event.workerId} stopped and left ${short(row.id)} leased`);
      }
    },
  }),
};
