import type { StateJob } from "leasehold/adapter";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claimAll, completion, newJob } from "../testing/jobs.ts";
import { createTestStore, type TestStore } from "../testing/store.ts";

let store: TestStore;

beforeEach(async () => {
  store = await createTestStore();
});

afterEach(() => store.destroy());

// One statement writes most of a batch. An outcome that is different must have the same effect as on its own.
describe("a batch with one that is different", () => {
  const deduplication = { key: "key", scope: "unfinished", windowMs: null } as const;

  it("of a sequence with a deduplication key", async () => {
    const { adapter } = store;
    await adapter.createJobs({ jobs: [newJob(), newJob({ deduplication }), newJob()] });
    const claimed = await claimAll(adapter);
    const results = await adapter.commitOutcomes({ outcomes: claimed.map((job) => completion(job)) });
    expect(results.map(({ kind }) => kind)).toEqual(["applied", "applied", "applied"]);
    const [again] = await adapter.createJobs({ jobs: [newJob({ deduplication })] });
    expect(again?.deduplicated).toBe(false);
  });

  it("whose sequence has a key, though it is a continuation and has none itself", async () => {
    const { adapter } = store;
    const first = newJob({ deduplication });
    await adapter.createJobs({ jobs: [first] });
    const [running] = await claimAll(adapter);
    const next = newJob({ sequenceId: first.id, rootSequenceId: first.id, sequenceIndex: 1 });
    await adapter.createJobs({ jobs: [next] });
    await adapter.commitOutcomes({
      outcomes: [{ ...completion(running!), continuedToId: next.id } as never],
    });
    const start = async (): Promise<boolean | undefined> =>
      (await adapter.createJobs({ jobs: [newJob({ deduplication })] }))[0]?.deduplicated;
    expect(await start()).toBe(true);
    await adapter.createJobs({ jobs: [newJob()] });
    const claimed = await claimAll(adapter);
    await adapter.commitOutcomes({ outcomes: claimed.map((job) => completion(job)) });
    expect(await start()).toBe(false);
  });

  it("that others wait for", async () => {
    const { adapter } = store;
    const blocker = newJob();
    await adapter.createJobs({ jobs: [newJob(), blocker, newJob()] });
    const claimed = await claimAll(adapter);
    const waiting = newJob({ awaitsBlockers: true });
    await adapter.runInTransaction(async (ctx) => {
      await adapter.createJobs({ jobs: [waiting], ctx });
      await adapter.addJobBlockers({ jobId: waiting.id, blockerSequenceIds: [blocker.id], ctx });
    });
    const results = await adapter.commitOutcomes({ outcomes: claimed.map((job) => completion(job)) });
    const unblocked = results.map(
      (result) => result.kind === "applied" && result.unblocked.map(({ id }) => id),
    );
    expect(unblocked).toEqual([[], [waiting.id], []]);
  });

  it("whose lease is another's, that is repeated, gone, failed, or comes twice", async () => {
    const { adapter } = store;
    await adapter.createJobs({ jobs: Array.from({ length: 5 }, () => newJob()) });
    const [one, two, three, four, five] = await claimAll(adapter);
    await adapter.commitOutcomes({ outcomes: [completion(two!)] });
    const failure = { ...completion(four!), kind: "fail", reason: "unrecoverable", error: "x" } as const;
    const results = await adapter.commitOutcomes({
      outcomes: [
        completion(one!, "1"),
        completion(two!),
        { ...completion(three!), leaseToken: "stale" },
        failure,
        completion(newJob() as never),
        completion(five!, "5"),
        completion(five!, "again"),
      ],
    });
    expect(results.map((result) => (result.kind === "refused" ? result.reason : result.kind))).toEqual([
      "applied",
      "repeated",
      "lease_mismatch",
      "applied",
      "not_found",
      "applied",
      "repeated",
    ]);
    const jobs = await adapter.getJobs({ jobIds: [one!, two!, three!, four!, five!].map(({ id }) => id) });
    expect(jobs.map((job) => [job?.status, job?.output])).toEqual([
      ["completed", "1"],
      ["completed", "null"],
      ["running", null],
      ["failed", null],
      ["completed", "5"],
    ]);
  });

  it("from another claim, and with outcomes of other kinds among them", async () => {
    const { adapter } = store;
    await adapter.createJobs({ jobs: Array.from({ length: 4 }, () => newJob()) });
    const [one, two] = await claimAll(adapter, 2);
    const [three, four] = await claimAll(adapter, 2);
    const retry = { ...completion(three!), kind: "retry", schedule: { afterMs: 0 }, error: "x" } as const;
    const results = await adapter.commitOutcomes({
      outcomes: [completion(one!), retry, completion(two!), completion(four!)],
    });
    expect(results.every(({ kind }) => kind === "applied")).toBe(true);
    const jobs = await adapter.getJobs({ jobIds: [one!, two!, three!, four!].map(({ id }) => id) });
    expect(jobs.map((job) => [job?.status, job?.leaseToken])).toEqual([
      ["completed", one!.leaseToken],
      ["completed", two!.leaseToken],
      ["pending", three!.leaseToken],
      ["completed", four!.leaseToken],
    ]);
  });
});

// After a batch with a different outcome, the single statement is not tried for a while. So each of these comes first.
describe("the first completion that a store gets", () => {
  const start = async (): Promise<StateJob> => {
    await store.adapter.createJobs({ jobs: [newJob()] });
    const [job] = await claimAll(store.adapter);
    return job!;
  };

  it("is refused when its lease is another's", async () => {
    const job = await start();
    const [result] = await store.adapter.commitOutcomes({
      outcomes: [{ ...completion(job), leaseToken: "stale" }],
    });
    expect(result).toMatchObject({ kind: "refused", reason: "lease_mismatch" });
    expect((await store.adapter.getJobs({ jobIds: [job.id] }))[0]?.status).toBe("running");
  });

  it("is refused when its lease has run out", async () => {
    const job = await start();
    const now = job.leasedUntil!;
    const [result] = await store.adapter.commitOutcomes({ outcomes: [completion(job)], now });
    expect(result).toMatchObject({ kind: "refused", reason: "lease_expired" });
    expect((await store.adapter.getJobs({ jobIds: [job.id] }))[0]?.status).toBe("running");
  });

  it("is refused when the job has been cancelled", async () => {
    const job = await start();
    await store.adapter.cancelSequences({ sequenceIds: [job.sequenceId], error: "no" });
    const [result] = await store.adapter.commitOutcomes({ outcomes: [completion(job)] });
    expect(result).toMatchObject({ kind: "refused", reason: "not_running" });
    expect((await store.adapter.getJobs({ jobIds: [job.id] }))[0]?.status).toBe("failed");
  });
});
