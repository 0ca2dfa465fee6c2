import { startMongoTestServer } from "@leasehold/mongodb-test-server";
import type { NewJob } from "leasehold/adapter";
import { MongoClient } from "mongodb";
import { expect, test } from "vitest";
import { createMongoStateProvider } from "./database/provider.ts";
import { createMongoStateAdapter } from "./state-adapter.ts";

const newJob = (i: number): NewJob => ({
  id: `job-${i}`,
  typeName: `type-${i % 3}`,
  sequenceId: `job-${i}`,
  sequenceTypeName: `type-${i % 3}`,
  sequenceIndex: 0,
  sequenceCreatedAt: null,
  rootSequenceId: `job-${i}`,
  originId: null,
  traceContext: null,
  queue: "queue",
  priority: 0,
  timeoutMs: null,
  leaseMs: null,
  maxAttempts: 3,
  onBlockerFailure: "fail",
  group: null,
  ordered: null,
  input: "{}",
  schedule: { afterMs: i < 1000 ? 0 : 3_600_000 },
  awaitsBlockers: false,
  deduplication: i % 10 === 0 ? { key: `key-${i}`, scope: "unfinished", windowMs: null } : null,
});

test("every call finds its jobs by an index, in few commands however many jobs there are", async () => {
  // A claim that takes longer than its limit takes the jobs one by one: a slow machine must not count as that.
  const server = await startMongoTestServer({ enforcesMaxTime: false });
  const client = new MongoClient(server.uri, { monitorCommands: true });
  let commands: string[] = [];
  client.on("commandStarted", ({ commandName }) => commands.push(commandName));
  const scans: string[] = [];
  server.onPlan(({ command, isCollectionScan, namespace }) => {
    if (isCollectionScan) scans.push(`${command} ${namespace}`);
  });
  const counted = async <T>(run: () => Promise<T>): Promise<{ result: T; sent: string[] }> => {
    commands = [];
    const result = await run();
    // Every few seconds, a call asks for the time.
    return { result, sent: commands.filter((name) => name !== "endSessions" && name !== "hello") };
  };
  try {
    const adapter = await createMongoStateAdapter({ stateProvider: createMongoStateProvider({ client }) });
    for (let i = 0; i < 1500; i += 250) {
      await adapter.createJobs({ jobs: Array.from({ length: 250 }, (_, n) => newJob(i + n)) });
    }
    const claim = { workerId: "w", leaseToken: "token", leaseMs: 30_000, limit: 100 };
    const typeNames = ["type-0", "type-1", "type-2"];
    const claimed = await counted(() =>
      adapter.claimJobs({ ...claim, requests: [{ queue: "queue", typeNames, limit: 100 }] }),
    );
    expect(claimed.result).toHaveLength(100);
    expect(claimed.sent).toEqual(["find", "update", "find"]);

    const leases = claimed.result.map(({ id }) => ({ jobId: id, leaseToken: "token", leaseMs: 60_000 }));
    const renewed = await counted(() => adapter.renewLeases({ leases }));
    expect(renewed.result.every(({ kind }) => kind === "renewed")).toBe(true);
    expect(renewed.sent).toEqual(["update", "find"]);

    const outcomes = claimed.result.map(({ id }) => ({
      kind: "complete" as const,
      jobId: id,
      leaseToken: "token",
      output: null,
      continuedToId: null,
      completedBy: "w",
    }));
    const committed = await counted(() => adapter.commitOutcomes({ outcomes }));
    expect(committed.result.every(({ kind }) => kind === "applied")).toBe(true);
    expect(committed.sent).toEqual(["update"]);

    await adapter.nextRunnableIn({ requests: [{ queue: "queue", typeNames }] });
    await adapter.getSequences({ sequenceIds: ["job-1", "job-2"] });
    await adapter.listJobs({ filter: {}, order: "newest", limit: 10, after: null });
    await adapter.listJobs({ filter: { statuses: ["failed"] }, order: "oldest", limit: 10, after: null });
    await adapter.listBlockedJobs({ sequenceId: "job-1", limit: 10, after: null });
    await adapter.cancelSequences({ sequenceIds: ["job-500"], error: "no" });
    await adapter.redriveJobs({ jobIds: ["job-500"] });
    await adapter.reapExpiredLeases({ limit: 10, error: "late" });
    await adapter.deleteSequences({ rootSequenceIds: ["job-600"] });
    const rules = [{ sequenceTypeNames: null, completedBefore: Date.now() + 1000, failedBefore: null }];
    await adapter.pruneSequences({ rules, limit: 5, after: null });
    await adapter.edits.updateWaitingJobs({ jobIds: ["job-700"], change: { priority: 1 } });
    await adapter.edits.expireWaitingJobs({ limit: 10, error: "late" });
    const deduplication = { key: "key-0", scope: "pending", windowMs: null, onDuplicate: "replace" } as const;
    await adapter.createJobs({ jobs: [{ ...newJob(3000), id: "job-3000", deduplication }] });
    const recurring = { definition: "", owner: null, paused: false, version: 1, lastSequenceId: null };
    const progress = { nextNominalAt: 1, runsAt: 1, tickHistory: "", timeZoneVersion: "", computedAt: 0 };
    await adapter.runInTransaction(async (ctx) => {
      await adapter.recurring.lockRecurring({ ctx, ids: ["nightly"] });
      await adapter.recurring.putRecurring({ ctx, jobs: [{ id: "nightly", ...recurring, ...progress }] });
    });
    await adapter.recurring.nextRecurringIn({});
    await adapter.recurring.listRecurring({ limit: 10, after: "a" });
    await adapter.runInTransaction(async (ctx) => {
      const { jobs } = await adapter.recurring.lockDueRecurring({ ctx, limit: 10, timeZoneVersion: null });
      expect(jobs.map(({ id }) => id)).toEqual(["nightly"]);
      await adapter.recurring.advanceRecurring({
        ctx,
        jobs: [{ id: "nightly", ...progress, lastSequenceId: null }],
      });
    });
    await adapter.recurring.deleteRecurring({ ids: ["nightly"] });
    expect(scans).toEqual([]);
    await adapter.close();
  } finally {
    await client.close();
    await server.stop();
  }
});
