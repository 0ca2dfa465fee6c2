import { createdStateJob } from "../rules/created-job.ts";
import { describe, expect, it } from "vitest";
import { baseTime, newJob } from "../conformance/state-fixture.ts";
import type { JobRecord } from "./job-record.ts";
import { createJobStore } from "./job-store.ts";
import type { JobStore } from "./job-store.ts";
import { claimed } from "../rules/transitions.ts";

const insert = (store: JobStore, queue = "queue"): JobRecord =>
  store.insert(createdStateJob(newJob({ queue, typeName: "type" }), baseTime));

const lease = { workerId: "worker", leaseToken: "token", leaseMs: 1_000 };
const live = 100;

/** Makes the same few jobs go through a state again and again, and watches how much is kept for them. */
const mostKept = (change: (store: JobStore, record: JobRecord, round: number) => void): number => {
  const store = createJobStore();
  store.setTime(baseTime);
  const records = Array.from({ length: live }, () => insert(store));
  let most = 0;
  for (let round = 1; round <= 1_000; round += 1) {
    for (const record of records) change(store, record, round);
    most = Math.max(most, store.runnable.size());
  }
  return most;
};

describe("the index keeps no more than the live jobs need", () => {
  it("when leases are renewed for ever", () => {
    const most = mostKept((store, record, round) => {
      if (record.row.status === "pending") store.update(record, claimed(record.row, lease, baseTime));
      store.update(record, { ...record.row, leasedUntil: baseTime + round });
    });
    expect(most).toBeLessThan(10 * live);
  });

  it("when jobs are rescheduled for ever", () => {
    const most = mostKept((store, record, round) => {
      const sign = round % 2 === 0 ? 1 : -1;
      store.update(record, { ...record.row, scheduledAt: baseTime + sign * round });
    });
    expect(most).toBeLessThan(10 * live);
  });

  it("when jobs are claimed and completed for ever", () => {
    const most = mostKept((store, record) => {
      const waiting = record.row;
      store.update(record, claimed(waiting, lease, baseTime));
      store.update(record, { ...record.row, status: "completed" });
      store.update(record, waiting);
    });
    expect(most).toBeLessThan(10 * live);
  });

  it("when all jobs are gone", () => {
    const store = createJobStore();
    const records = Array.from({ length: 5_000 }, (_, index) => insert(store, `queue-${index % 500}`));
    for (const record of records) store.remove(record);
    expect(store.runnable.size()).toBe(0);
    expect(store.runnable.queueTypes("queue-1", null)).toEqual([]);
  });
});
