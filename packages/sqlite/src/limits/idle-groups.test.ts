import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import { claimAll, completion, newJob } from "../testing/jobs.ts";
import { createTestStore, openRaw, type TestStore } from "../testing/store.ts";

let store: TestStore;

beforeEach(async () => {
  store = await createTestStore();
});

afterEach(() => store.destroy());

const reap = (now?: number): Promise<unknown> =>
  store.adapter.reapExpiredLeases({ limit: 10, error: "expired", ...(now === undefined ? {} : { now }) });

const countGroups = async (): Promise<unknown> => {
  const raw = await openRaw(store.file);
  const [count] = raw.first("SELECT count(*) FROM leasehold_group_state", [])!;
  raw.close();
  return count;
};

it("deletes the states of groups that are as good as new, and no others", async () => {
  const { adapter } = store;
  const ordered = { ordered: "stop" } as const;
  await adapter.createJobs({
    jobs: [
      ...Array.from({ length: 20 }, (_, index) => newJob({ group: `done-${index}`, ordered: "continue" })),
      newJob({ group: "failed", ...ordered }),
      ...Array.from({ length: 4 }, () => newJob({ group: "busy" })),
    ],
  });
  const jobs = await claimAll(adapter, 22);
  expect(jobs).toHaveLength(22);
  const outcomes = jobs.map((job) =>
    job.group === "failed"
      ? { ...completion(job), kind: "fail" as const, reason: "unrecoverable" as const, error: null }
      : completion(job),
  );
  await adapter.commitOutcomes({ outcomes });
  await reap();
  expect(await countGroups()).toBe(2);
  for (let turn = 0; turn < 3; turn += 1) {
    const [job] = await claimAll(adapter, 1);
    await adapter.commitOutcomes({ outcomes: [completion(job!)] });
  }
  await reap();
  await reap();
  expect(await countGroups()).toBe(2);
  await adapter.createJobs({ jobs: [newJob({ group: "failed", ...ordered }), newJob({ group: "new" })] });
  const [last, ...others] = await claimAll(adapter);
  expect([last?.group, others]).toEqual(["new", []]);
  await adapter.commitOutcomes({ outcomes: [completion(last!)] });
  await reap();
  expect(await countGroups()).toBe(1);
});

it("deletes groups that come one by one", async () => {
  const { adapter } = store;
  for (let index = 0; index < 20; index += 1) {
    await adapter.createJobs({ jobs: [newJob({ group: `group-${index}` })] });
    const jobs = await claimAll(adapter);
    await adapter.commitOutcomes({ outcomes: jobs.map((job) => completion(job)) });
  }
  await reap();
  expect(await countGroups()).toBe(0);
});

it("deletes groups with one job each, while others keep arriving", async () => {
  const { adapter } = store;
  await adapter.createJobs({ jobs: [newJob({ group: "group-0" })] });
  for (let index = 1; index <= 40; index += 1) {
    await adapter.createJobs({ jobs: [newJob({ group: `group-${index}` })] });
    const jobs = await claimAll(adapter, 1);
    await adapter.commitOutcomes({ outcomes: jobs.map((job) => completion(job)) });
  }
  await reap();
  // The group that waits, and the last one that was served.
  expect(await countGroups()).toBe(2);
});

it("keeps a group of low weight until the others had their turns", async () => {
  const { adapter } = store;
  await adapter.limits.setRule({ queue: "queue", typeName: null, change: { weights: { slow: 0.1 } } });
  await adapter.createJobs({ jobs: ["slow", "busy", "busy"].map((group) => newJob({ group })) });
  const jobs = await claimAll(adapter, 2);
  expect(jobs.map(({ group }) => group)).toEqual(["slow", "busy"]);
  await adapter.commitOutcomes({ outcomes: jobs.map((job) => completion(job)) });
  await reap();
  expect(await countGroups()).toBe(2);
});

it("keeps a group that has spent tokens until they are back", async () => {
  const { adapter } = store;
  const perGroup = { concurrency: null, rate: { limit: 3, perMs: 60_000, burst: 3 } };
  const now = Date.now();
  await adapter.limits.setRule({ queue: "queue", typeName: null, change: { perGroup }, now });
  const start = (count: number): Promise<unknown> =>
    adapter.createJobs({ jobs: Array.from({ length: count }, () => newJob({ group: "a" })), now });
  const requests = [{ queue: "queue", typeNames: null, limit: 9 }];
  const claim = (at: number): ReturnType<typeof adapter.claimJobs> =>
    adapter.claimJobs({
      workerId: "worker",
      leaseToken: randomUUID(),
      leaseMs: 90_000,
      requests,
      limit: 9,
      now: at,
    });
  await start(2);
  const jobs = await claim(now);
  expect(jobs).toHaveLength(2);
  await adapter.commitOutcomes({ outcomes: jobs.map((job) => completion(job)), now });
  await reap(now);
  await start(3);
  expect(await claim(now)).toHaveLength(1);
  expect(await claim(now + 60_000)).not.toEqual([]);
});

it("a round does not end while a group may have more jobs than a claim has read", async () => {
  const { adapter } = store;
  await adapter.createJobs({ jobs: [newJob({ group: "a" }), newJob({ group: "a" })] });
  expect(await claimAll(adapter, 1)).toMatchObject([{ group: "a" }]);
  await adapter.createJobs({ jobs: [newJob({ group: "b" })] });
  expect(await claimAll(adapter, 1)).toMatchObject([{ group: "b" }]);
});
