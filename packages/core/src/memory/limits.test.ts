import { describe, expect, it } from "vitest";
import { baseTime, newJob } from "../conformance/state-fixture.ts";
import { createJobStore, type JobStore } from "./job-store.ts";
import { claimJobs } from "./operations/claim-jobs.ts";
import { commitOutcomes } from "./operations/commit-outcomes.ts";
import { createJobs } from "./operations/create-jobs.ts";
import { setRule } from "./operations/set-flow-rule.ts";

const scope = { queue: "queue", typeName: "type" };

const start = (store: JobStore, group: string | null, overrides = {}, now = baseTime): string => {
  const [created] = createJobs(store, [newJob({ ...scope, group, ...overrides })], now);
  return created!.job.id;
};

const claim = (store: JobStore, limit: number, now = baseTime) =>
  claimJobs(
    store,
    {
      workerId: "worker",
      leaseToken: "token",
      leaseMs: 30_000,
      requests: [{ queue: "queue", typeNames: null, limit }],
      limit,
    },
    now,
  );

const complete = (store: JobStore, jobIds: readonly string[]): void => {
  const outcome = { kind: "complete", output: null, continuedToId: null, completedBy: null } as const;
  commitOutcomes(
    store,
    jobIds.map((jobId) => ({ ...outcome, jobId, leaseToken: "token" })),
    baseTime,
  );
};

describe("groups and rules in process", () => {
  it("are forgotten with their jobs", () => {
    const store = createJobStore();
    for (let index = 0; index < 5_000; index += 1) {
      start(store, `group-${index}`);
      complete(
        store,
        claim(store, 10).map(({ id }) => id),
      );
    }
    expect(store.flow.find("queue", "type")!.lines.size).toBeLessThan(500);
    expect(store.runnable.queueTypes("queue", null)[0]!.groups.size).toBe(0);
    expect(store.runnable.size()).toBeLessThan(500);
  });

  it("let a claim pass over lines that are full without looking at them", () => {
    const store = createJobStore();
    setRule(store, { ...scope, change: { perGroup: { concurrency: 1, rate: null } } }, baseTime);
    for (let index = 0; index < 2_000; index += 1) {
      start(store, `group-${index}`);
      start(store, `group-${index}`);
    }
    expect(claim(store, 2_000)).toHaveLength(2_000);
    expect(claim(store, 1)).toHaveLength(0);
    const [queueType] = store.runnable.queueTypes("queue", null);
    let looks = 0;
    queueType!.claimableGroups.first(
      baseTime,
      () => (looks += 1),
      () => 0,
    );
    expect(looks).toBe(0);
  });
});
