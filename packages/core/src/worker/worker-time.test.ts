import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../model/job-types.ts";
import { recordCalls } from "../testing/record-calls.ts";
import { createTestBench } from "../testing/test-bench.ts";

interface Types {
  work: { input: null; output: null };
}

const jobTypes = defineUnionJobTypes<Types>();
const day = 24 * 3_600_000;

describe("a worker in time", () => {
  it("runs a job that is due in 60 days on that day, and does not spin until then", async () => {
    let claims = (): number => 0;
    const bench = await createTestBench({
      jobTypes,
      wrapStateAdapter: (adapter) => {
        const recorded = recordCalls(adapter);
        claims = () => recorded.callsOf("claimJobs").length;
        return recorded.adapter;
      },
    });
    const ranAt: number[] = [];
    const worker = bench.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async () => {
        ranAt.push(bench.clock.now());
        return null;
      },
    });
    const startedAt = bench.clock.now();
    await bench.leasehold.startJobSequence({
      typeName: "work",
      input: null,
      schedule: { afterMs: 60 * day },
    });
    const options = { pollIntervalMs: 3_600_000, reapIntervalMs: day, leaseMs: day };
    await bench.advance(worker, 60 * day, options);
    expect(ranAt).toEqual([startedAt + 60 * day]);
    expect(claims()).toBeLessThan(60 * 24 + 10);
  });

  it("wakes for a job that comes due between two polls", async () => {
    const bench = await createTestBench({ jobTypes });
    const ranAt: number[] = [];
    const worker = bench.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async () => {
        ranAt.push(bench.clock.now());
        return null;
      },
    });
    const running = await bench.clock.runUntil(worker.start({ pollIntervalMs: 60_000 }));
    await bench.clock.advanceBy(10);
    const startedAt = bench.clock.now();
    await bench.leasehold.startJobSequence({ typeName: "work", input: null, schedule: { afterMs: 250 } });
    await bench.clock.runUntil(() => ranAt.length === 1);
    expect(ranAt).toEqual([startedAt + 250]);
    await bench.clock.runUntil(running.stop());
  });

  it("goes on with a queue of low limit as soon as it has room, though another queue is idle", async () => {
    const bench = await createTestBench({ jobTypes });
    let executions = 0;
    const worker = bench.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async () => {
        executions += 1;
        await new Promise<void>((resolve) => bench.clock.setTimer(resolve, 10));
        return null;
      },
    });
    const sequences = Array.from({ length: 5 }, () => ({ typeName: "work" as const, queue: "narrow" }));
    await bench.leasehold.startJobSequences({ sequences });
    const options = { queues: { narrow: 1, idle: 5 }, prefetch: 0, pollIntervalMs: 60_000 };
    const running = await bench.clock.runUntil(worker.start(options));
    const before = bench.clock.monotonic();
    await bench.clock.runUntil(() => executions === 5);
    expect(bench.clock.monotonic() - before).toBeLessThan(1_000);
    await bench.clock.runUntil(running.stop());
  });

  it("retries when the backoff is over, not at the next poll", async () => {
    const bench = await createTestBench({ jobTypes });
    const ranAt: number[] = [];
    const worker = bench.leasehold.createWorker().implementJobType({
      typeName: "work",
      retry: { type: "fixed", delayMs: 700 },
      process: async () => {
        ranAt.push(bench.clock.now());
        if (ranAt.length < 3) throw new Error("not yet");
        return null;
      },
    });
    await bench.leasehold.startJobSequence({ typeName: "work", input: null });
    const running = await bench.clock.runUntil(worker.start({ pollIntervalMs: 60_000 }));
    await bench.clock.runUntil(() => ranAt.length === 3);
    expect(ranAt.map((at) => at - ranAt[0]!)).toEqual([0, 700, 1_400]);
    await bench.clock.runUntil(running.stop());
  });

  it("completes a lone job at once, however large a batch could be", async () => {
    const bench = await createTestBench({ jobTypes });
    const worker = bench.leasehold
      .createWorker()
      .implementJobType({ typeName: "work", process: async () => null });
    const running = await bench.clock.runUntil(worker.start({ commitBatchSize: 500 }));
    const { id } = await bench.leasehold.startJobSequence({ typeName: "work", input: null });
    const before = bench.clock.monotonic();
    await bench.clock.runUntil(async () => (await bench.leasehold.getJob({ id }))?.status === "completed");
    expect(bench.clock.monotonic() - before).toBeLessThan(5);
    await bench.clock.runUntil(running.stop());
  });

  it("leaves no timer behind, whatever its jobs did", async () => {
    const bench = await createTestBench({ jobTypes });
    let n = 0;
    const worker = bench.leasehold.createWorker().implementJobType({
      typeName: "work",
      timeoutMs: 50,
      maxAttempts: 1,
      process: async ({ signal }) => {
        n += 1;
        if (n % 3 === 0) throw new Error("fails");
        if (n % 3 === 1)
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        return null;
      },
    });
    await bench.leasehold.startJobSequences({
      sequences: Array.from({ length: 300 }, () => ({ typeName: "work" as const, input: null })),
    });
    await bench.drain(worker, { concurrency: 20 });
    expect(bench.clock.pendingTimers).toBe(0);
    expect(await bench.leasehold.countJobs({ status: "failed" })).toMatchObject([{ count: 200 }]);
  });
});
