import { statSync } from "node:fs";
import type { StateJob } from "leasehold/adapter";
import { afterEach, beforeEach, expect, it } from "vitest";
import { claimAll, completion, newJob } from "../testing/jobs.ts";
import { createTestStore, type TestStore } from "../testing/store.ts";

let store: TestStore;

beforeEach(async () => {
  store = await createTestStore({ maxWalBytes: 2 ** 40 });
});

afterEach(() => store.destroy());

const megabyte = JSON.stringify("x".repeat(1_000_000));

const long = JSON.stringify("long ".repeat(1_000));

const countLongInputs = (): Promise<unknown> =>
  store.adapter.provideContext(
    async ({ client }) => client.prepare("SELECT job_seq FROM leasehold_job_input").all().length,
  );

const stored = async ({ id }: { readonly id: string }): Promise<StateJob> =>
  (await store.adapter.getJobs({ jobIds: [id] }))[0]!;

it("a change of a job's status does not write its input again", async () => {
  const { adapter, file } = store;
  await adapter.createJobs({ jobs: [newJob({ input: megabyte })] });
  await adapter.provideContext(async ({ client }) => client.prepare("PRAGMA wal_autocheckpoint = 0").get());
  const before = statSync(`${file}-wal`).size;
  const [job] = await claimAll(adapter);
  expect(job?.input).toBe(megabyte);
  await adapter.renewLeases({ leases: [{ jobId: job!.id, leaseToken: job!.leaseToken!, leaseMs: 1_000 }] });
  await adapter.commitOutcomes({ outcomes: [completion(job!)] });
  expect(await stored(job!)).toMatchObject({ status: "completed", input: megabyte });
  expect(statSync(`${file}-wal`).size - before).toBeLessThan(500_000);
});

it("long and short inputs of one call come back, in the order of the claim", async () => {
  const { adapter } = store;
  const inputs = ["null", long, "1", megabyte, long, "2"];
  const jobs = inputs.map((input) => newJob({ input }));
  await adapter.createJobs({ jobs });
  expect(await countLongInputs()).toBe(3);
  expect((await adapter.getJobs({ jobIds: jobs.map(({ id }) => id) })).map((job) => job?.input)).toEqual(
    inputs,
  );
  const groups = inputs.map((input) => newJob({ input, group: "g" }));
  expect((await claimAll(adapter)).map(({ input }) => input)).toEqual(inputs);
  await adapter.createJobs({ jobs: groups });
  expect((await claimAll(adapter)).map(({ input }) => input)).toEqual(inputs);
});

it("another start can give a waiting job a longer or shorter input", async () => {
  const { adapter } = store;
  const deduplication = { key: "k", scope: "pending", windowMs: null, onDuplicate: "replace" } as const;
  const [first] = await adapter.createJobs({ jobs: [newJob({ input: "1", deduplication })] });
  for (const [input, count] of [
    [long, 1],
    [megabyte, 1],
    ["2", 0],
    [long, 1],
  ] as const) {
    const [answer] = await adapter.createJobs({ jobs: [newJob({ input, deduplication })] });
    expect(answer).toMatchObject({ replaced: true, job: { id: first!.job.id } });
    expect((await stored(first!.job)).input === input).toBe(true);
    expect(await countLongInputs()).toBe(count);
  }
  await adapter.edits.updateWaitingJobs({ jobIds: [first!.job.id], change: { priority: 1 } });
  const claimed = await claimAll(adapter);
  expect(claimed.map(({ input }) => input === long)).toEqual([true]);
});

it("a search finds jobs by a part of a long input", async () => {
  const { adapter } = store;
  const [wanted, other] = [
    newJob({ input: JSON.stringify(`${"x".repeat(5_000)}needle`) }),
    newJob({ input: long }),
  ];
  await adapter.createJobs({ jobs: [wanted, other] });
  const call = { filter: { inputContains: "needle" }, order: "newest", limit: 10, after: null } as const;
  expect((await adapter.listJobs(call)).jobs.map(({ id }) => id)).toEqual([wanted.id]);
});

it("a long input is deleted with its job", async () => {
  const { adapter } = store;
  const jobs = [newJob({ input: long }), newJob({ input: "1" }), newJob({ input: long })];
  await adapter.createJobs({ jobs });
  await adapter.deleteSequences({ rootSequenceIds: [jobs[0]!.id, jobs[1]!.id] });
  expect(await countLongInputs()).toBe(1);
  expect((await stored(jobs[2]!)).input).toBe(long);
});
