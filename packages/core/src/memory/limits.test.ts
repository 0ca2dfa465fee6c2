import { describe, expect, it } from "vitest";
import { baseTime, newJob } from "../conformance/state-fixture.ts";
import { claimJobs } from "./claim.ts";
import { createJobs } from "./create.ts";
import { reapExpiredLeases } from "./leases.ts";
import { commitOutcomes } from "./outcomes.ts";
import { Rows } from "./rows.ts";

const start = (rows: Rows, group: string): void => {
  createJobs(rows, { jobs: [newJob({ queue: "queue", typeName: "type", group })] }, baseTime);
};

const claimAndComplete = (rows: Rows, limit: number): void => {
  const lease = { workerId: "worker", leaseToken: "token", leaseMs: 30_000 };
  const requests = [{ queue: "queue", typeNames: null, limit }];
  const claimed = claimJobs(rows, { ...lease, requests, limit }, baseTime);
  const outcome = { kind: "complete", output: null, continuedToId: null, completedBy: null } as const;
  const outcomes = claimed.map(({ id }) => ({ ...outcome, jobId: id, leaseToken: "token" }));
  commitOutcomes(rows, { outcomes }, baseTime);
};

describe("groups in process", () => {
  it("are deleted after their jobs have ended", () => {
    const rows = new Rows();
    for (let index = 0; index < 2_000; index += 1) {
      start(rows, `group-${index}`);
      claimAndComplete(rows, 10);
    }
    const type = rows.queues.get("queue")!.types.get("type")!;
    expect(type.groups.size).toBeLessThan(10);
    expect([rows.leases.size, type.leased.size, type.queue.activeGroups]).toEqual([0, 0, 0]);
  });

  it("are deleted if each has one job, while others keep arriving", () => {
    const rows = new Rows();
    start(rows, "group-0");
    for (let index = 1; index <= 40; index += 1) {
      start(rows, `group-${index}`);
      claimAndComplete(rows, 1);
    }
    reapExpiredLeases(rows, { limit: 10, error: "" }, baseTime);
    expect(rows.queues.get("queue")!.types.get("type")!.groups.size).toBe(1);
  });
});
