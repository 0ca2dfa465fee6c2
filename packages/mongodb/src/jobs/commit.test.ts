import { type MongoTestServer, startMongoTestServer } from "@leasehold/mongodb-test-server";
import type { JobOutcome, StateJob } from "leasehold/adapter";
import { MongoClient } from "mongodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMongoStateProvider, type MongoTransactionContext } from "../database/provider.ts";
import { createMongoStateAdapter, type MongoStateAdapter } from "../state-adapter.ts";
import { claimSome, completion, createSome, newJob, renewal } from "../testing/jobs.ts";

type Adapter = MongoStateAdapter<MongoTransactionContext>;

let time: number;

let server: MongoTestServer;

let client: MongoClient;

let adapter: Adapter;

const open = (options: object = {}): Promise<Adapter> => {
  client = new MongoClient(server.uri, options);
  return createMongoStateAdapter({ stateProvider: createMongoStateProvider({ client }) });
};

beforeEach(async () => {
  time = Date.now();
  server = await startMongoTestServer({ now: () => time, enforcesMaxTime: false });
  adapter = await open();
});

afterEach(async () => {
  await adapter.close();
  await client.close();
  await server.stop();
});

const kindsOf = (results: readonly { readonly kind: string; readonly reason?: string }[]): string[] =>
  results.map(({ kind, reason }) => reason ?? kind);

const failure = (job: StateJob): JobOutcome => ({
  kind: "fail",
  jobId: job.id,
  leaseToken: job.leaseToken,
  reason: "unrecoverable",
  error: "broken",
});

describe("a batch of outcomes", () => {
  it("is judged job by job: those that nobody waits for, those that somebody does, and those of stale leases", async () => {
    await createSome(adapter, 6);
    const claimed = await claimSome(adapter, 6);
    const [plain, awaited, failing, stolen, gone, failingAwaited] = claimed as [
      StateJob,
      StateJob,
      StateJob,
      StateJob,
      StateJob,
      StateJob,
    ];
    const wait = async (blocker: StateJob): Promise<string> => {
      const job = newJob({ awaitsBlockers: true });
      await adapter.runInTransaction(async (ctx) => {
        await adapter.createJobs({ ctx, jobs: [job] });
        await adapter.addJobBlockers({ ctx, jobId: job.id, blockerSequenceIds: [blocker.id] });
      });
      return job.id;
    };
    const waiting = await wait(awaited);
    const doomed = await wait(failingAwaited);
    await adapter.cancelSequences({ sequenceIds: [gone.id], error: "no" });

    const results = await adapter.commitOutcomes({
      outcomes: [
        completion(plain),
        completion(awaited),
        failure(failing),
        { ...completion(stolen), leaseToken: "another" },
        completion(gone),
        failure(failingAwaited),
      ],
    });

    expect(kindsOf(results)).toEqual([
      "applied",
      "applied",
      "applied",
      "lease_mismatch",
      "not_running",
      "applied",
    ]);
    expect(results[1]).toMatchObject({ unblocked: [{ id: waiting }] });
    expect(results[5]).toMatchObject({ cascaded: [{ id: doomed }] });
    const stored = await adapter.getJobs({ jobIds: [waiting, doomed, stolen.id] });
    expect(stored.map((job) => job?.status)).toEqual(["pending", "failed", "running"]);
  });

  it("is judged by the server's clock", async () => {
    await createSome(adapter, 2);
    const claimed = await claimSome(adapter, 2, 1_000);
    time += 999;
    expect(kindsOf(await adapter.commitOutcomes({ outcomes: [completion(claimed[0]!)] }))).toEqual([
      "applied",
    ]);
    time += 1;
    const late = [completion(claimed[1]!)];
    expect(kindsOf(await adapter.commitOutcomes({ outcomes: late }))).toEqual(["lease_expired"]);
    const renewed = await adapter.renewLeases({ leases: [renewal(claimed[1]!)] });
    expect(kindsOf(renewed)).toEqual(["lease_expired"]);
    const [done, running] = await adapter.getJobs({ jobIds: claimed.map(({ id }) => id) });
    expect([done?.completedAt, running?.status]).toEqual([time - 1, "running"]);
  });

  it("may hold two outcomes of one job", async () => {
    await createSome(adapter, 1);
    const [job] = await claimSome(adapter, 1);
    const outcomes = [failure(job!), failure(job!), completion(job!)];
    expect(kindsOf(await adapter.commitOutcomes({ outcomes }))).toEqual([
      "applied",
      "repeated",
      "not_running",
    ]);
  });

  it("changes nothing about a job that has gone back to its queue, although that keeps the token", async () => {
    await createSome(adapter, 1);
    const [job] = await claimSome(adapter, 1);
    const { jobId, leaseToken } = completion(job!);
    const retry = {
      kind: "retry",
      jobId,
      leaseToken,
      schedule: { afterMs: 60_000 },
      error: "again",
    } as const;
    expect(kindsOf(await adapter.commitOutcomes({ outcomes: [retry] }))).toEqual(["applied"]);
    time += 1_000;
    expect(kindsOf(await adapter.commitOutcomes({ outcomes: [retry] }))).toEqual(["repeated"]);
    expect(kindsOf(await adapter.commitOutcomes({ outcomes: [completion(job!)] }))).toEqual(["not_running"]);
    expect(kindsOf(await adapter.renewLeases({ leases: [renewal(job!)] }))).toEqual(["not_running"]);
    const [stored] = await adapter.getJobs({ jobIds: [jobId] });
    expect([stored?.status, stored?.scheduledAt]).toEqual(["pending", time + 59_000]);
  });

  it("whose reply is lost was applied once", async () => {
    await createSome(adapter, 10);
    const claimed = await claimSome(adapter, 10);
    server.faults.add({ commands: ["update"], fault: { kind: "cutAfter" } });
    const results = await adapter.commitOutcomes({ outcomes: claimed.map((job) => completion(job)) });
    expect(new Set(kindsOf(results))).toEqual(new Set(["applied"]));
  });

  it("whose reply is lost to a client without retries is recognised by the next try", async () => {
    await client.close();
    adapter = await open({ retryWrites: false });
    await createSome(adapter, 10);
    const claimed = await claimSome(adapter, 10);
    const outcomes = claimed.map((job) => completion(job));
    server.faults.add({ commands: ["update"], fault: { kind: "cutAfter" } });
    const error = await adapter.commitOutcomes({ outcomes }).catch((reason: unknown) => reason);
    expect(adapter.isTransientError(error)).toBe(true);
    expect(new Set(kindsOf(await adapter.commitOutcomes({ outcomes })))).toEqual(new Set(["repeated"]));
  });
});

it("renewals of one lease that meet have all renewed it", async () => {
  await createSome(adapter, 1);
  const [job] = await claimSome(adapter, 1);
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, n) => adapter.renewLeases({ leases: [renewal(job!, 60_000 + n)] })),
  );
  expect(new Set(kindsOf(results.flat()))).toEqual(new Set(["renewed"]));
});

it("the end of a sequence reaches those who began to wait before it went on", async () => {
  await createSome(adapter, 1);
  const [first] = await claimSome(adapter, 1);
  const waiting = newJob({ awaitsBlockers: true, typeName: "waiting" });
  await adapter.runInTransaction(async (ctx) => {
    await adapter.createJobs({ ctx, jobs: [waiting] });
    await adapter.addJobBlockers({ ctx, jobId: waiting.id, blockerSequenceIds: [first!.id] });
  });
  const next = newJob({
    sequenceId: first!.id,
    rootSequenceId: first!.id,
    sequenceIndex: 1,
    sequenceCreatedAt: first!.createdAt,
  });
  await adapter.runInTransaction(async (ctx) => {
    await adapter.lockHeldJobs({ ctx, leases: [renewal(first!)] });
    await adapter.createJobs({ ctx, jobs: [next] });
    const outcome = { ...completion(first!), continuedToId: next.id, locked: true } as JobOutcome;
    await adapter.commitOutcomes({ ctx, outcomes: [outcome] });
  });
  const [second] = await claimSome(adapter, 1);
  expect(second?.id).toBe(next.id);
  const [result] = await adapter.commitOutcomes({ outcomes: [completion(second!)] });
  expect(result).toMatchObject({ kind: "applied", unblocked: [{ id: waiting.id }] });
});
