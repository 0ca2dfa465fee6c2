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

const countLines = async (): Promise<unknown> => {
  const raw = await openRaw(store.file);
  const [count] = raw.first("SELECT count(*) FROM leasehold_line", [])!;
  raw.close();
  return count;
};

it("forgets the lines of groups that are as good as new, and no others", async () => {
  const { adapter } = store;
  const ordered = { ordered: "stop" } as const;
  await adapter.createJobs({
    jobs: [
      ...Array.from({ length: 20 }, (_, index) => newJob({ group: `done-${index}`, ordered: "continue" })),
      newJob({ group: "failed", ...ordered }),
    ],
  });
  const jobs = await claimAll(adapter);
  expect(jobs).toHaveLength(21);
  const outcomes = jobs.map((job) =>
    job.group === "failed"
      ? { ...completion(job), kind: "fail" as const, reason: "unrecoverable" as const, error: null }
      : completion(job),
  );
  await adapter.commitOutcomes({ outcomes });
  // Until others have had their turn, a group that is served already must not look like a new one.
  await reap();
  expect(await countLines()).toBe(21);
  await adapter.createJobs({
    jobs: Array.from({ length: 4 }, () => newJob({ group: "busy", ordered: "continue" })),
  });
  for (let turn = 0; turn < 3; turn += 1) {
    const [job] = await claimAll(adapter);
    await adapter.commitOutcomes({ outcomes: [completion(job!)] });
  }
  await reap();
  await reap();
  expect(await countLines()).toBe(2);
  await adapter.createJobs({ jobs: [newJob({ group: "failed", ...ordered })] });
  expect((await claimAll(adapter)).map(({ group }) => group)).toEqual(["busy"]);
});
