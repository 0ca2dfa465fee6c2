import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";
import type { WorkerStartOptions } from "./api.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();

const hourMs = 3_600_000;

/** A worker whose store calls are counted. */
const createKit = async (options: WorkerStartOptions) => {
  const calls: string[] = [];
  const ranAt: number[] = [];
  const kit = await createTestKit({
    jobTypes,
    statistics: true,
    defaults: { retention: { completedMs: 1_000 } },
    wrapStateAdapter: (adapter) =>
      wrapAdapter(adapter, (method, original) => (...passed) => {
        calls.push(method);
        return original(...passed);
      }),
  });
  const worker = await kit.clock.runUntil(
    kit.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async () => {
          ranAt.push(kit.clock.now());
          return null;
        },
      })
      .start(options),
  );
  // The first turns of all loops, and the report of the new worker.
  await kit.clock.advanceBy(120_000);
  const countCalls = async (ms: number): Promise<string[]> => {
    calls.length = 0;
    await kit.clock.advanceBy(ms);
    return [...calls];
  };
  return { ...kit, ranAt, countCalls, stop: () => kit.clock.runUntil(worker.stop()) };
};

const asleep = { idleSleepMs: 24 * hourMs } as const;

describe("an idle worker with idleSleepMs", () => {
  it("sends nothing for an hour, where others poll, reap, prune and report", async () => {
    const usual = await createKit({});
    const kinds = new Set(await usual.countCalls(60_000));
    expect([...kinds]).toEqual(
      expect.arrayContaining(["nextRunnableIn", "reapExpiredLeases", "writeReport", "pruneSequences"]),
    );
    await usual.stop();
    const kit = await createKit(asleep);
    expect(await kit.countCalls(hourMs)).toEqual([]);
    await kit.stop();
  });

  it("runs a job at once after a notification, and falls asleep again", async () => {
    const kit = await createKit(asleep);
    await kit.countCalls(hourMs);
    const startedAt = kit.clock.now();
    await kit.leasehold.startJobSequence({ typeName: "work" });
    // What was postponed follows: the store is awake anyway.
    expect(await kit.countCalls(60_000)).toEqual(
      expect.arrayContaining(["expireWaitingJobs", "writeReport"]),
    );
    expect(kit.ranAt[0]! - startedAt).toBeLessThanOrEqual(10);
    expect(await kit.countCalls(hourMs)).toEqual([]);
    await kit.stop();
  });

  it("wakes when a job is due, and for a recurring job", async () => {
    const kit = await createKit(asleep);
    const dueAt = kit.clock.now() + 2 * hourMs;
    await kit.leasehold.startJobSequence({ typeName: "work", schedule: { at: new Date(dueAt) } });
    await kit.countCalls(60_000);
    expect(await kit.countCalls(hourMs)).toEqual([]);
    await kit.clock.runUntil(() => kit.ranAt.length === 1);
    expect(kit.ranAt[0]! - dueAt).toBeLessThanOrEqual(10);
    await kit.leasehold.recurring.put({ id: "daily", everyMs: 5 * hourMs, job: { typeName: "work" } });
    const { nextAt } = (await kit.leasehold.recurring.get({ id: "daily" }))!;
    await kit.clock.runUntil(() => kit.ranAt.length === 2, { maxMs: 6 * hourMs });
    expect(kit.ranAt[1]! - nextAt!.getTime()).toBeLessThanOrEqual(100);
    await kit.stop();
  });

  it("asks the store after idleSleepMs: a notification may have been lost", async () => {
    const kit = await createKit({ idleSleepMs: hourMs });
    const calls = await kit.countCalls(hourMs);
    expect(calls.filter((method) => method === "nextRunnableIn")).toHaveLength(1);
    expect(calls).toContain("reapExpiredLeases");
    await kit.stop();
  });

  it("is still listed as alive", async () => {
    const kit = await createKit(asleep);
    await kit.clock.advanceBy(hourMs);
    expect(await kit.leasehold.history.listProcesses()).toMatchObject([{ alive: true }]);
    await kit.stop();
  });
});
