import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { recordCalls } from "../testing/record-calls.ts";
import { createTestKit } from "../testing/test-kit.ts";

interface Types {
  work: { input: null; output: null };
}

const jobTypes = defineUnionJobTypes<Types>();

const day = 24 * 3_600_000;

describe("a worker in time", () => {
  it("runs a job that is due in 60 days on that day, and does not spin until then", async () => {
    let claims = (): number => 0;
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) => {
        const recorded = recordCalls(adapter);
        claims = () => recorded.callsOf("claimJobs").length;
        return recorded.adapter;
      },
    });
    const ranAt: number[] = [];
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async () => {
        ranAt.push(kit.clock.now());
        return null;
      },
    });
    const startedAt = kit.clock.now();
    await kit.leasehold.startJobSequence({
      typeName: "work",
      input: null,
      schedule: { afterMs: 60 * day },
    });
    const options = { pollIntervalMs: 3_600_000, reapIntervalMs: day, leaseMs: day };
    await kit.advance(worker, 60 * day, options);
    expect(ranAt).toEqual([startedAt + 60 * day]);
    expect(claims()).toBeLessThan(60 * 24 + 10);
  });

  it("wakes for a job that comes due between two polls", async () => {
    const kit = await createTestKit({ jobTypes });
    const ranAt: number[] = [];
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async () => {
        ranAt.push(kit.clock.now());
        return null;
      },
    });
    const running = await kit.clock.runUntil(worker.start({ pollIntervalMs: 60_000 }));
    await kit.clock.advanceBy(10);
    const startedAt = kit.clock.now();
    await kit.leasehold.startJobSequence({ typeName: "work", input: null, schedule: { afterMs: 250 } });
    await kit.clock.runUntil(() => ranAt.length === 1);
    expect(ranAt).toEqual([startedAt + 250]);
    await kit.clock.runUntil(running.stop());
  });

  it("goes on with a queue of low limit as soon as it has room, though another queue is idle", async () => {
    const kit = await createTestKit({ jobTypes });
    let executions = 0;
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async () => {
        executions += 1;
        await new Promise<void>((resolve) => kit.clock.setTimer(resolve, 10));
        return null;
      },
    });
    const sequences = Array.from({ length: 5 }, () => ({ typeName: "work" as const, queue: "narrow" }));
    await kit.leasehold.startJobSequences({ sequences });
    const options = { queues: { narrow: 1, idle: 5 }, prefetch: 0, pollIntervalMs: 60_000 };
    const running = await kit.clock.runUntil(worker.start(options));
    const before = kit.clock.monotonic();
    await kit.clock.runUntil(() => executions === 5);
    expect(kit.clock.monotonic() - before).toBeLessThan(1_000);
    await kit.clock.runUntil(running.stop());
  });

  it("retries when the backoff is over, not at the next poll", async () => {
    const kit = await createTestKit({ jobTypes });
    const ranAt: number[] = [];
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "work",
      retry: { type: "fixed", delayMs: 700 },
      process: async () => {
        ranAt.push(kit.clock.now());
        if (ranAt.length < 3) throw new Error("not yet");
        return null;
      },
    });
    await kit.leasehold.startJobSequence({ typeName: "work", input: null });
    const running = await kit.clock.runUntil(worker.start({ pollIntervalMs: 60_000 }));
    await kit.clock.runUntil(() => ranAt.length === 3);
    expect(ranAt.map((at) => at - ranAt[0]!)).toEqual([0, 700, 1_400]);
    await kit.clock.runUntil(running.stop());
  });

  it("completes a lone job at once, however large a batch could be", async () => {
    const kit = await createTestKit({ jobTypes });
    const worker = kit.leasehold
      .createWorker()
      .implementJobType({ typeName: "work", process: async () => null });
    const running = await kit.clock.runUntil(worker.start({ commitBatchSize: 500 }));
    const { id } = await kit.leasehold.startJobSequence({ typeName: "work", input: null });
    const before = kit.clock.monotonic();
    await kit.clock.runUntil(async () => (await kit.leasehold.jobs.get({ id }))?.status === "completed");
    expect(kit.clock.monotonic() - before).toBeLessThan(5);
    await kit.clock.runUntil(running.stop());
  });

  it("leaves no timer behind, whatever its jobs did", async () => {
    const kit = await createTestKit({ jobTypes });
    let n = 0;
    const worker = kit.leasehold.createWorker().implementJobType({
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
    await kit.leasehold.startJobSequences({
      sequences: Array.from({ length: 300 }, () => ({ typeName: "work" as const, input: null })),
    });
    await kit.drain(worker, { concurrency: 20 });
    expect(kit.clock.pendingTimers).toBe(0);
    expect(await kit.leasehold.jobs.count({ status: "failed" })).toMatchObject([{ count: 200 }]);
  });
});
