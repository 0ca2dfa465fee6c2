import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claimAll, completion, newJob } from "../testing/jobs.ts";
import { createTestStore, openRaw, type TestStore } from "../testing/store.ts";

const scope = { queue: "queue", typeName: null } as const;

let store: TestStore;

let other: TestStore;

beforeEach(async () => {
  store = await createTestStore();
  other = await createTestStore({ file: store.file });
});

afterEach(async () => {
  await other.destroy();
  await store.destroy();
});

const exec = async (sql: string): Promise<void> => {
  const raw = await openRaw(store.file);
  raw.exec(sql);
  raw.close();
};

describe("rules that another process has set", () => {
  it("hold for the next claim, and no longer than they are there", async () => {
    const [mine, theirs] = [store.adapter, other.adapter];
    await mine.createJobs({ jobs: Array.from({ length: 6 }, () => newJob()) });
    expect(await claimAll(mine, 1)).toHaveLength(1);
    await theirs.limits.setRule({ ...scope, change: { paused: true } });
    expect(await claimAll(mine)).toEqual([]);
    expect(await mine.nextRunnableIn({ requests: [{ queue: "queue", typeNames: null }] })).toBeNull();
    await theirs.limits.setRule({ ...scope, change: { paused: false, concurrency: 3 } });
    expect(await claimAll(mine)).toHaveLength(2);
  });

  it("are not mistaken for those of a transaction that was rolled back", async () => {
    const [mine, theirs] = [store.adapter, other.adapter];
    await mine.createJobs({ jobs: Array.from({ length: 6 }, () => newJob()) });
    const undo = new Error("undo");
    const run = mine.runInTransaction(async (ctx) => {
      await mine.limits.setRule({ ...scope, change: { concurrency: 5 }, ctx });
      // From here on, this process knows the rule.
      expect(await mine.nextRunnableIn({ requests: [{ queue: "queue", typeNames: null }], ctx })).toBe(0);
      throw undo;
    });
    await expect(run).rejects.toBe(undo);
    await theirs.limits.setRule({ ...scope, change: { concurrency: 2 } });
    expect(await claimAll(mine)).toHaveLength(2);
    expect((await mine.limits.repairCounters({ repair: false })).counters).toEqual([]);
  });

  it("are not mistaken for those of a first group that was rolled back", async () => {
    const [mine, theirs] = [store.adapter, other.adapter];
    const undo = new Error("undo");
    const run = mine.runInTransaction(async (ctx) => {
      await mine.createJobs({ jobs: [newJob({ group: "a" })], ctx });
      expect(await mine.nextRunnableIn({ requests: [{ queue: "queue", typeNames: null }], ctx })).toBe(0);
      throw undo;
    });
    await expect(run).rejects.toBe(undo);
    await mine.createJobs({ jobs: [newJob({ group: "b" })] });
    await theirs.limits.setRule({ ...scope, change: { paused: true } });
    expect(await claimAll(mine)).toEqual([]);
    await theirs.limits.setRule({ ...scope, change: { paused: false } });
    expect(await claimAll(theirs)).toHaveLength(1);
  });

  it("count the jobs that this process is running", async () => {
    const [mine, theirs] = [store.adapter, other.adapter];
    await mine.createJobs({ jobs: Array.from({ length: 6 }, () => newJob()) });
    const running = await claimAll(mine, 3);
    await theirs.limits.setRule({ ...scope, change: { concurrency: 3 } });
    expect(await claimAll(theirs)).toEqual([]);
    await mine.commitOutcomes({ outcomes: running.slice(0, 2).map((job) => completion(job)) });
    expect(await claimAll(theirs)).toHaveLength(2);
  });
});

it("a slot whose lease has expired throttles no job", async () => {
  const { adapter } = store;
  await adapter.limits.setRule({ ...scope, change: { concurrency: 1 }, now: 1_000 });
  const jobs = [newJob(), newJob()];
  await adapter.createJobs({ jobs, now: 1_000 });
  const requests = [{ queue: "queue", typeNames: null, limit: 1 }];
  const claim = { workerId: "worker", leaseToken: "token", leaseMs: 500, requests, limit: 1 };
  const [running] = await adapter.claimJobs({ ...claim, now: 1_000 });
  const { id: jobId } = jobs.find(({ id }) => id !== running?.id)!;
  expect(await adapter.limits.explainThrottle({ jobId, now: 1_499 })).toMatchObject({ by: "concurrency" });
  expect(await adapter.limits.explainThrottle({ jobId, now: 1_500 })).toBeNull();
});

describe("counters that are wrong", () => {
  it("are found, and set right on request", async () => {
    const { adapter } = store;
    const perGroup = { concurrency: 2, rate: null };
    await adapter.limits.setRule({ ...scope, change: { concurrency: 3, perGroup } });
    await adapter.createJobs({ jobs: Array.from({ length: 6 }, () => newJob({ group: "a" })) });
    expect(await claimAll(adapter)).toHaveLength(2);
    await exec(
      "UPDATE leasehold_limit_rule SET running = 9 WHERE type_name = ''; UPDATE leasehold_group_state SET running = 0",
    );
    const differences = [
      { queue: "queue", typeName: null, group: null, was: 9, is: 2 },
      { queue: "queue", typeName: "type", group: "a", was: 0, is: 2 },
    ];
    expect(await adapter.limits.repairCounters({ repair: false })).toEqual({ counters: differences });
    expect(await adapter.limits.repairCounters({ repair: true })).toEqual({ counters: differences });
    expect(await adapter.limits.repairCounters({ repair: false })).toEqual({ counters: [] });
    expect(await claimAll(adapter)).toEqual([]);
  });
});
