import { describe, expect, it } from "vitest";
import type { History } from "../store/contract/history.ts";
import type { LeaseholdOptions } from "../create-engine.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import type { InProcessStateAdapter } from "../memory/state-adapter.ts";
import type { ReportCall, StatisticsBucket } from "../store/contract/history.ts";
import { UnrecoverableJobError } from "../store/errors.ts";
import type { FaultPlan } from "../testing/fault-plans.ts";
import { withFaults } from "../testing/faults.ts";
import { recordCalls, type RecordedAdapter } from "../testing/record-calls.ts";
import { createTestKit, type TestKit } from "../testing/test-kit.ts";
import { type Counts, mergeCounts, readCounts } from "./counts.ts";
import { parseProcessInfo } from "./processes.ts";

interface Types {
  work: { input: number; output: number };
  other: { input: null; output: null };
}

const jobTypes = defineUnionJobTypes<Types>();

type Options = Partial<LeaseholdOptions<Types, InProcessStateAdapter>> & { readonly plan?: FaultPlan };

const createKit = async ({ plan, ...options }: Options = {}) => {
  let recorded: RecordedAdapter<InProcessStateAdapter> | undefined;
  const events: string[] = [];
  const kit: TestKit<Types> = await createTestKit({
    jobTypes,
    statistics: true,
    deployment: "v1",
    log: ({ event, data }) => events.push("operation" in data ? `${event} ${data.operation}` : event),
    ...options,
    wrapStateAdapter: (adapter) => {
      recorded = recordCalls(plan ? withFaults(adapter, plan) : adapter);
      return recorded.adapter;
    },
  });
  const { history } = kit.stateAdapter as { readonly history?: unknown } as { history: History<object> };
  const reports = (): ReportCall[] =>
    recorded!.callsOf("writeReport").map(({ args }) => args[0] as ReportCall);
  const buckets = (): Promise<StatisticsBucket[]> =>
    history.readBuckets({ bucketMs: 10_000, from: 0, before: Number.MAX_SAFE_INTEGER, limit: 1_000 });
  const counts = async (): Promise<Counts> =>
    readCounts(mergeCounts((await buckets()).map((row) => row.counts)));
  const workers = kit.leasehold.createWorker().implementJobType({
    typeName: "work",
    process: async ({ job }) => {
      if (job.input === 0) throw new UnrecoverableJobError("no");
      if (job.input < 0) throw new Error("not yet");
      return job.input;
    },
  });
  const start = (input: number) => kit.leasehold.startJobSequence({ typeName: "work", input });
  return { ...kit, history, reports, buckets, counts, worker: workers, start, events };
};

describe("the reporter", () => {
  it("counts what was created, completed, retried and failed, and how long it took", async () => {
    const kit = await createKit();
    for (const input of [1, 2, 0, -1]) await kit.start(input);
    await kit.drain(kit.worker);
    const stored = (await kit.buckets()).map(({ queue, typeName, deployment }) => [
      queue,
      typeName,
      deployment,
    ]);
    expect(stored).toEqual([["default", "work", "v1"]]);
    expect(await kit.counts()).toMatchObject({
      created: 4,
      released: 0,
      reaped: 0,
      completed: 2,
      retried: 1,
      failed: { unrecoverable: 1, attempts_exhausted: 0 },
      timeToStart: { "0": 4 },
      runTime: { "0": 4 },
    });
  });

  it("counts nothing that was rolled back", async () => {
    const kit = await createKit();
    await expect(
      kit.leasehold.runInTransaction(async (ctx) => {
        await kit.leasehold.startJobSequence({ typeName: "work", input: 1, ...ctx });
        throw new Error("rolled back");
      }),
    ).rejects.toThrow("rolled back");
    await kit.leasehold.runInTransaction(async (ctx) => {
      await kit.leasehold.startJobSequence({ typeName: "work", input: 1, ...ctx });
    });
    await kit.clock.runUntil(kit.leasehold.close());
    expect(await kit.counts()).toMatchObject({ created: 1 });
  });

  it("reports a second after something has happened, and then not again", async () => {
    const kit = await createKit();
    await kit.start(1);
    await kit.clock.advanceBy(999);
    expect(kit.reports().length).toBe(0);
    await kit.clock.advanceBy(1);
    expect(kit.reports().length).toBe(1);
    await kit.clock.advanceBy(60_000);
    expect(kit.reports().length).toBe(1);
    expect(kit.clock.pendingTimers).toBe(0);
  });

  it("overwrites its rows with the sum of ten seconds", async () => {
    const kit = await createKit();
    const start = kit.clock.now();
    expect(start % 10_000).toBe(0);
    for (let second = 0; second < 25; second++) {
      await kit.start(1);
      await kit.clock.advanceBy(1_000);
    }
    const rows = await kit.buckets();
    expect(rows.map(({ from }) => from - start)).toEqual([0, 10_000, 20_000]);
    expect(await kit.counts()).toMatchObject({ created: 25 });
    expect(rows.map(({ counts }) => readCounts(mergeCounts([counts])).created)).toEqual([9, 10, 6]);
    expect(new Set(kit.reports().map(({ reporter }) => reporter.id)).size).toBe(1);
  });

  it("says that it is alive while a worker runs, and what the worker serves", async () => {
    const kit = await createKit();
    const running = await kit.clock.runUntil(kit.worker.start({ workerId: "w", concurrency: 3 }));
    const startedAt = kit.clock.now();
    await kit.clock.advanceBy(35_000);
    const [reporter] = await kit.history.listProcesses({ seenFrom: 0, limit: 10 });
    expect(kit.clock.now() - reporter!.seenAt).toBeLessThanOrEqual(10_000);
    expect(reporter!.startedAt).toBeLessThanOrEqual(startedAt);
    expect(kit.reports().length).toBeLessThanOrEqual(5);
    expect(parseProcessInfo(reporter!.info)).toMatchObject({
      pid: process.pid,
      node: process.version,
      leasehold: "0.0.0",
      ended: false,
      workers: [
        {
          id: "w",
          concurrency: 3,
          typeNames: ["work"],
          running: 0,
          queues: [{ name: "default", concurrency: 3 }],
        },
      ],
    });
    await kit.clock.runUntil(running.stop());
    const [stopped] = await kit.history.listProcesses({ seenFrom: 0, limit: 10 });
    expect(parseProcessInfo(stopped!.info)).toMatchObject({ workers: [], ended: false });
    await kit.clock.runUntil(kit.leasehold.close());
    const [closed] = await kit.history.listProcesses({ seenFrom: 0, limit: 10 });
    expect(parseProcessInfo(closed!.info).ended).toBe(true);
  });

  it("stores each cause once, with the deployment that has seen it first", async () => {
    const kit = await createKit();
    for (const input of [0, 0, 0]) await kit.start(input);
    await kit.drain(kit.worker);
    const causes = kit.reports().flatMap((call) => call.causes);
    expect(causes).toMatchObject([{ name: "UnrecoverableJobError", message: "no", deployment: "v1" }]);
    expect((await kit.history.listCauses({ cap: 10 })).causes).toMatchObject([causes[0]!]);
  });

  it("says once a day that a cause still comes up", async () => {
    const kit = await createKit();
    const hour = 3_600_000;
    const reported = async (): Promise<number> => {
      await kit.start(0);
      await kit.drain(kit.worker);
      return kit.reports().flatMap((call) => call.causes).length;
    };
    expect(await reported()).toBe(1);
    await kit.clock.advanceBy(23 * hour);
    expect(await reported()).toBe(1);
    await kit.clock.advanceBy(hour);
    expect(await reported()).toBe(2);
    const [cause] = (await kit.history.listCauses({ cap: 10 })).causes;
    expect(cause!.lastSeenAt - cause!.firstSeenAt).toBeGreaterThanOrEqual(24 * hour);
  });

  it("reports what is left when it is closed, and nothing afterwards", async () => {
    const kit = await createKit();
    await kit.start(1);
    await kit.clock.runUntil(kit.leasehold.close());
    expect(await kit.counts()).toMatchObject({ created: 1 });
    await kit.clock.advanceBy(60_000);
    expect(kit.reports().length).toBe(1);
  });

  it("is silent in a process that only reads", async () => {
    const kit = await createKit();
    await kit.leasehold.jobs.list({});
    await kit.clock.advanceBy(60_000);
    await kit.clock.runUntil(kit.leasehold.close());
    expect(kit.reports()).toEqual([]);
  });

  it("is off with `statistics: false`", async () => {
    const kit = await createKit({ statistics: false });
    await kit.start(1);
    await kit.drain(kit.worker);
    await kit.clock.runUntil(kit.leasehold.close());
    expect(kit.reports()).toEqual([]);
  });

  describe("of a store that cannot take reports", () => {
    const failing =
      (isOver: () => boolean): FaultPlan =>
      ({ method }) =>
        method === "writeReport" && !isOver() ? { kind: "fail_before" } : undefined;

    it("keeps jobs running, tells about it, and reports later", async () => {
      let isOver = false;
      const kit = await createKit({ plan: failing(() => isOver) });
      await kit.start(1);
      await kit.start(2);
      await kit.drain(kit.worker);
      const { jobs } = await kit.leasehold.jobs.list({});
      expect(jobs.map(({ status }) => status)).toEqual(["completed", "completed"]);
      expect(kit.events).toContain("stateAdapterError writeReport");
      isOver = true;
      await kit.clock.advanceBy(30_000);
      expect(await kit.counts()).toMatchObject({ created: 2, completed: 2 });
    });

    it("does not ask it more and more often", async () => {
      const kit = await createKit({ plan: failing(() => false), storeRetry: { maxAttempts: 1 } });
      await kit.start(1);
      await kit.clock.advanceBy(120_000);
      expect(kit.reports().length).toBeLessThan(10);
      await kit.clock.runUntil(kit.leasehold.close());
    });

    it("closes in time when it does not answer", async () => {
      const hanging: FaultPlan = ({ method }) => (method === "writeReport" ? { kind: "hang" } : undefined);
      const kit = await createKit({ plan: hanging });
      await kit.start(1);
      const startedAt = kit.clock.now();
      await kit.clock.runUntil(kit.leasehold.close());
      expect(kit.clock.now() - startedAt).toBeLessThanOrEqual(1_000);
    });
  });
});
