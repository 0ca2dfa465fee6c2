import { type MongoTestServer, startMongoTestServer } from "@leasehold/mongodb-test-server";
import type { NewJob } from "leasehold/adapter";
import { type ClientSession, type Collection, MongoClient } from "mongodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JobDocument } from "../database/job-document.ts";
import { createMongoStateProvider, type MongoTransactionContext } from "../database/provider.ts";
import { createMongoStateAdapter, type MongoStateAdapter } from "../state-adapter.ts";
import { claimSome, completion, createSome, newJob, renewal } from "../testing/jobs.ts";

let server: MongoTestServer;

let client: MongoClient;

let adapter: MongoStateAdapter<MongoTransactionContext>;

let jobs: Collection<JobDocument>;
/** Another process. */
let others: ClientSession;

let sent: string[];

let failed: string[];

beforeEach(async () => {
  server = await startMongoTestServer();
  client = new MongoClient(server.uri, { monitorCommands: true });
  adapter = await createMongoStateAdapter({ stateProvider: createMongoStateProvider({ client }) });
  jobs = client.db().collection("leasehold_jobs");
  others = client.startSession();
  sent = [];
  failed = [];
  client.on("commandStarted", ({ commandName }) => sent.push(commandName));
  client.on("commandFailed", ({ commandName }) => failed.push(commandName));
});

afterEach(async () => {
  if (others.inTransaction()) await others.abortTransaction();
  await others.endSession();
  await adapter.close();
  await client.close();
  await server.stop();
});

const hold = async (id: string): Promise<void> => {
  others.startTransaction();
  await jobs.updateOne({ _id: id }, { $inc: { touched: 1 } }, { session: others });
};

const idsOf = (found: readonly { readonly id: string }[]): string[] => found.map(({ id }) => id).sort();

describe("a job that another process's transaction holds", () => {
  it("is left out of a claim, which takes all others, and of the next one at no cost", async () => {
    const ids = await createSome(adapter, 20);
    await hold(ids[3]!);
    expect(idsOf(await claimSome(adapter, 20))).toEqual(ids.filter((_, index) => index !== 3).sort());

    failed = [];
    const more = await createSome(adapter, 5);
    // More than the first in line are looked at: the held one does not use up the limit.
    expect(idsOf(await claimSome(adapter, 1))).toEqual([more[0]]);
    expect(idsOf(await claimSome(adapter, 10))).toEqual(more.slice(1).sort());
    expect(failed).toEqual([]);
  });

  it("is busy for a renewal, which renews all others", async () => {
    await createSome(adapter, 20);
    const claimed = await claimSome(adapter, 20);
    await hold(claimed[7]!.id);
    const results = await adapter.renewLeases({ leases: claimed.map((job) => renewal(job, 120_000)) });
    expect(results.map(({ kind }) => kind)).toEqual(
      claimed.map((_, index) => (index === 7 ? "busy" : "renewed")),
    );
    const stored = await adapter.getJobs({ jobIds: claimed.map(({ id }) => id) });
    for (const [index, result] of results.entries()) {
      if (result.kind === "renewed") expect(stored[index]?.leasedUntil).toBe(result.leasedUntil);
    }
  });

  it("is passed over by the reaper, even if it was to look at no more than that", async () => {
    await createSome(adapter, 3);
    const claimed = await claimSome(adapter, 3, 1);
    const [first] = claimed.toSorted((a, b) => a.leasedUntil! - b.leasedUntil!);
    await hold(first!.id);
    const call = { limit: 1, error: "late", now: Date.now() + 60_000 };
    const reaped = [];
    for (let round = 0; round < 3; round++) reaped.push(...(await adapter.reapExpiredLeases(call)));
    expect(reaped.map(({ job }) => job.id).sort()).toEqual(
      idsOf(claimed.filter(({ id }) => id !== first!.id)),
    );
  });

  it("keeps no other outcome of the batch waiting", async () => {
    await createSome(adapter, 20);
    const claimed = await claimSome(adapter, 20);
    await hold(claimed[0]!.id);
    const committing = adapter.commitOutcomes({ outcomes: claimed.map((job) => completion(job)) });
    const countCompleted = () => jobs.countDocuments({ status: "completed" });
    while ((await countCompleted()) < 19) await new Promise((resolve) => setTimeout(resolve, 5));
    await others.abortTransaction();
    expect((await committing).map(({ kind }) => kind)).toEqual(claimed.map(() => "applied"));
  });
});

describe("a job that a transaction of this process holds", () => {
  it("is busy for a renewal and no candidate for a claim, without a question to the server", async () => {
    await createSome(adapter, 3);
    const [held, free] = await claimSome(adapter, 2);
    await adapter.runInTransaction(async (ctx) => {
      await adapter.lockHeldJobs({ ctx, leases: [renewal(held!)] });
      sent = [];
      expect(await adapter.renewLeases({ leases: [renewal(held!)] })).toEqual([{ kind: "busy" }]);
      expect(sent).toEqual([]);
      const results = await adapter.renewLeases({ leases: [renewal(held!), renewal(free!)] });
      expect(results.map(({ kind }) => kind)).toEqual(["busy", "renewed"]);
      const [waiting] = await adapter
        .listJobs({ filter: { statuses: ["pending"] }, order: "oldest", limit: 1, after: null })
        .then(({ jobs: found }) => found);
      await adapter.lockSequence({ ctx, sequenceId: waiting!.id });
      expect(await claimSome(adapter, 5)).toEqual([]);
      expect(failed).toEqual([]);
    });
    expect(await adapter.renewLeases({ leases: [renewal(held!)] })).toMatchObject([{ kind: "renewed" }]);
    expect(await claimSome(adapter, 5)).toHaveLength(1);
  });
});

describe("a job that a transaction has locked and not changed", () => {
  /** Whether the call meets a conflict before it is done, instead of being done while the transaction is open. */
  const meetsConflict = async (lock: (ctx: MongoTransactionContext) => Promise<unknown>, id: string) => {
    let cancelling: Promise<unknown> | undefined;
    const first = await adapter.runInTransaction(async (ctx) => {
      await lock(ctx);
      const conflict = new Promise<string>((resolve) => {
        client.once("commandFailed", () => resolve("conflict"));
      });
      cancelling = adapter.cancelSequences({ sequenceIds: [id], error: "no" });
      return Promise.race([conflict, cancelling.then(() => "done")]);
    });
    await cancelling;
    return first === "conflict";
  };

  it("is changed by nobody else until that ends", async () => {
    const [id] = await createSome(adapter, 1);
    const [job] = await claimSome(adapter, 1);
    expect(await meetsConflict((ctx) => adapter.lockHeldJobs({ ctx, leases: [renewal(job!)] }), id!)).toBe(
      true,
    );
  });

  it("so is the current job of a sequence", async () => {
    const [id] = await createSome(adapter, 1);
    expect(await meetsConflict((ctx) => adapter.lockSequence({ ctx, sequenceId: id! }), id!)).toBe(true);
  });
});

it("two transactions cannot close a cycle of blockers together, though neither sees the other's part", async () => {
  const createWaiting = async (ctx: MongoTransactionContext, given: Partial<NewJob>, blockerId: string) => {
    const job = newJob({ ...given, awaitsBlockers: true });
    await adapter.createJobs({ ctx, jobs: [job] });
    await adapter.addJobBlockers({ ctx, jobId: job.id, blockerSequenceIds: [blockerId] });
    return job.id;
  };
  const [a, b] = (await createSome(adapter, 2)) as [string, string];
  const waitsForA = await adapter.runInTransaction((ctx) => createWaiting(ctx, {}, a));
  const waitsForB = await adapter.runInTransaction((ctx) => createWaiting(ctx, {}, b));
  // Each sequence goes on with a job that waits for the one that waits for the other sequence.
  const goOn = (ctx: MongoTransactionContext, sequenceId: string, blockerId: string) =>
    createWaiting(
      ctx,
      { sequenceId, rootSequenceId: sequenceId, sequenceIndex: 1, sequenceCreatedAt: 0 },
      blockerId,
    );

  const both = adapter.runInTransaction(async (ctx) => {
    await goOn(ctx, a, waitsForB);
    await adapter.runInTransaction((other) => goOn(other, b, waitsForA));
  });

  await expect(both).rejects.toSatisfy((error) => adapter.isConflictRollback(error));
});

describe("a server that is slow while nobody holds anything", () => {
  const timeOut = () => server.faults.add({ commands: ["update"], fault: { kind: "error", code: 50 } });

  it("has all jobs claimed, and none set aside", async () => {
    const ids = await createSome(adapter, 20);
    timeOut();
    sent = [];
    expect(idsOf(await claimSome(adapter, 20))).toEqual(ids.sort());
    expect(sent.filter((name) => name === "update")).toHaveLength(2);
  });

  it("has all leases renewed and all outcomes applied", async () => {
    await createSome(adapter, 20);
    const claimed = await claimSome(adapter, 20);
    timeOut();
    const renewed = await adapter.renewLeases({ leases: claimed.map((job) => renewal(job)) });
    expect(new Set(renewed.map(({ kind }) => kind))).toEqual(new Set(["renewed"]));
    timeOut();
    const applied = await adapter.commitOutcomes({ outcomes: claimed.map((job) => completion(job)) });
    expect(new Set(applied.map(({ kind }) => kind))).toEqual(new Set(["applied"]));
    expect(await jobs.countDocuments({ status: "completed" })).toBe(20);
  });
});

it("an error that is no conflict is not mistaken for a held job", async () => {
  await createSome(adapter, 2);
  const claimed = await claimSome(adapter, 2);
  const badValue = 2;
  for (const code of [50, badValue])
    server.faults.add({ commands: ["update"], fault: { kind: "error", code } });
  await expect(adapter.renewLeases({ leases: claimed.map((job) => renewal(job)) })).rejects.toMatchObject({
    code: badValue,
  });
});

describe("many who claim from one queue", () => {
  it("take every job once", { timeout: 60_000 }, async () => {
    const ids = await createSome(adapter, 120);
    const adapters = await Promise.all(
      Array.from({ length: 5 }, () =>
        createMongoStateAdapter({ stateProvider: createMongoStateProvider({ client }), migrate: false }),
      ),
    );
    const taken = await Promise.all(
      adapters.map(async (other) => {
        const own: string[] = [];
        for (;;) {
          const claimed = await claimSome(other, 10);
          if (claimed.length === 0) return own;
          own.push(...claimed.map(({ id }) => id));
        }
      }),
    );
    const late = await claimSome(adapter, 120);
    expect([...taken.flat(), ...late.map(({ id }) => id)].sort()).toEqual(ids.sort());
  });

  it("a worker that is alone keeps to the order", async () => {
    const ids = await createSome(adapter, 60);
    const claimed = [];
    for (let round = 0; round < 6; round++) claimed.push(...(await claimSome(adapter, 10)));
    expect(claimed.map(({ id }) => id)).toEqual(ids);
  });
});

describe("a waiting job that a start in an open transaction duplicates", () => {
  it("is claimed after that transaction, so that it sees what the transaction has written", async () => {
    const deduplication = { key: "key", scope: "pending", windowMs: null } as const;
    const waiting = newJob({ deduplication });
    await adapter.createJobs({ jobs: [waiting] });
    await adapter.runInTransaction(async (ctx) => {
      const [answer] = await adapter.createJobs({ ctx, jobs: [newJob({ deduplication })] });
      expect(answer).toMatchObject({ deduplicated: true, job: { id: waiting.id } });
      expect(await claimSome(adapter, 1)).toEqual([]);
    });
    expect(idsOf(await claimSome(adapter, 1))).toEqual([waiting.id]);
  });
});
