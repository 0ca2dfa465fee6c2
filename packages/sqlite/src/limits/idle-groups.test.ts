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
  // While "busy" waits for its second turn, a group that was served already must not look like a new one.
  await reap();
  expect(await countGroups()).toBe(22);
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

it("a round does not end while a group may have more jobs than a claim has read", async () => {
  const { adapter } = store;
  await adapter.createJobs({ jobs: [newJob({ group: "a" }), newJob({ group: "a" })] });
  expect(await claimAll(adapter, 1)).toMatchObject([{ group: "a" }]);
  await adapter.createJobs({ jobs: [newJob({ group: "b" })] });
  expect(await claimAll(adapter, 1)).toMatchObject([{ group: "b" }]);
});
