import { describe, expect, it } from "vitest";
import { sleep } from "../base/runtime.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import type { DefineContinuationOutput } from "../job-types/markers.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import type { NotifyAdapter } from "../notify/contract.ts";
import type { Fault } from "../testing/fault-plans.ts";
import { withFaults } from "../testing/faults.ts";
import { createTestKit } from "../testing/test-kit.ts";
import type { RunUntilIdleOptions, RunUntilIdleResult } from "./api.ts";

const jobTypes = defineUnionJobTypes<{
  work: { input: { ms: number; deaf?: boolean }; output: string };
  first: { input: null; output: DefineContinuationOutput<"last"> };
  last: { input: null; output: null };
  flaky: { input: null; output: null };
}>();

const createKit = async (options: { notifyAdapter?: NotifyAdapter } = {}) => {
  let fault: Fault | undefined;
  const aborts: { reason: unknown; at: number }[] = [];
  const kit = await createTestKit({
    jobTypes,
    ...options,
    wrapStateAdapter: (adapter) => withFaults(adapter, () => fault),
  });
  const { clock, leasehold } = kit;
  const worker = leasehold
    .createWorker()
    .implementJobType({
      typeName: "work",
      process: async ({ job, signal }) => {
        signal.addEventListener("abort", () => aborts.push({ reason: signal.reason, at: clock.now() }));
        await sleep(clock, job.input.ms, job.input.deaf ? undefined : signal);
        signal.throwIfAborted();
        return "done";
      },
    })
    .implementJobType({
      typeName: "first",
      process: async ({ complete }) =>
        complete(({ continueWith }) => continueWith({ typeName: "last", input: null })),
    })
    .implementJobType({ typeName: "last", process: async () => null })
    .implementJobType({
      typeName: "flaky",
      retry: { type: "fixed", delayMs: 60_000 },
      process: async () => {
        throw new Error("not yet");
      },
    });
  const run = async (
    options: Partial<RunUntilIdleOptions> = {},
  ): Promise<RunUntilIdleResult & { tookMs: number }> => {
    const from = clock.now();
    const result = await clock.runUntil(worker.runUntilIdle({ deadlineMs: 2_000, ...options }), {
      maxMs: 600_000,
    });
    return { ...result, tookMs: clock.now() - from };
  };
  return { ...kit, worker, run, aborts, setFault: (next: Fault | undefined) => (fault = next) };
};

const start = async (kit: Awaited<ReturnType<typeof createKit>>, ms: number, deaf = false) =>
  kit.clock.runUntil(kit.leasehold.startJobSequence({ typeName: "work", input: { ms, deaf } }));

describe("runUntilIdle", () => {
  it("runs what is due, with what follows from it, and ends at once", async () => {
    const kit = await createKit();
    for (let index = 0; index < 50; index++) await start(kit, 10);
    await kit.leasehold.startJobSequence({ typeName: "first" });
    const { tookMs, ...result } = await kit.run();
    expect(result).toEqual({
      ranJobs: 52,
      isIdle: true,
      nextRunnableAt: null,
      clean: true,
      releasedJobs: 0,
      abortedJobs: 0,
      abandonedJobs: 0,
      unwrittenResults: 0,
    });
    expect(tookMs).toBeLessThanOrEqual(100);
    expect(await kit.leasehold.jobs.count({ status: "completed" })).toHaveLength(3);
  });

  it("returns when the next job is due: a retry, a job for later or a recurring job", async () => {
    const kit = await createKit();
    await kit.leasehold.startJobSequence({ typeName: "flaky" });
    const { nextRunnableAt, ranJobs } = await kit.run();
    expect(ranJobs).toBe(1);
    expect(nextRunnableAt!.getTime()).toBeGreaterThan(kit.clock.now());
    const soon = new Date(kit.clock.now() + 5_000);
    await kit.leasehold.startJobSequence({ typeName: "last", schedule: { at: soon } });
    expect((await kit.run()).nextRunnableAt).toEqual(soon);
    await kit.leasehold.recurring.put({ id: "often", everyMs: 1_000, job: { typeName: "last" } });
    const { nextAt } = (await kit.leasehold.recurring.get({ id: "often" }))!;
    expect((await kit.run()).nextRunnableAt).toEqual(nextAt);
    await kit.clock.advanceBy(1_000);
    expect((await kit.run()).ranJobs).toBe(1);
  });

  it("keeps its budget: handlers are aborted in time, and their jobs are released", async () => {
    const kit = await createKit();
    for (let index = 0; index < 30; index++) await start(kit, 60_000);
    const from = kit.clock.now();
    const result = await kit.run();
    expect(result).toMatchObject({ ranJobs: 0, isIdle: false, abortedJobs: 10, abandonedJobs: 0 });
    expect(result.nextRunnableAt!.getTime()).toBeLessThanOrEqual(kit.clock.now());
    expect(result.tookMs).toBeLessThanOrEqual(2_000);
    expect(kit.aborts).toHaveLength(10);
    expect(kit.aborts[0]).toEqual({ reason: "shutdown", at: from + 1_500 });
    // No lease is left behind: another worker can claim all of them now.
    expect(await kit.leasehold.jobs.count({ status: "pending" })).toMatchObject([{ count: 30 }]);
    const [job] = (await kit.leasehold.jobs.list({ limit: 1 })).jobs;
    expect(job).toMatchObject({ attempt: 0 });
  });

  it("gives handlers the grace that was asked for, and ends on time with a handler that ignores its signal", async () => {
    const kit = await createKit();
    await start(kit, 60_000, true);
    const from = kit.clock.now();
    const result = await kit.run({ deadlineMs: 8_000, abortGraceMs: 3_000 });
    expect(kit.aborts).toEqual([{ reason: "shutdown", at: from + 4_000 }]);
    expect(result).toMatchObject({ isIdle: false, abandonedJobs: 1 });
    expect(result.tookMs).toBeLessThanOrEqual(8_000);
  });

  it.each([{ kind: "hang" }, { kind: "fail_before" }] as const)(
    "ends on time when the store stops answering during the run ($kind)",
    async (fault) => {
      const kit = await createKit();
      await start(kit, 1_000);
      kit.clock.setTimer(() => kit.setFault(fault), 500);
      const result = await kit.run();
      expect(result).toMatchObject({ isIdle: false, clean: false, unwrittenResults: 1 });
      expect(result.tookMs).toBeLessThanOrEqual(2_100);
    },
  );

  it("rejects with the error of a store that cannot be reached", async () => {
    const kit = await createKit();
    kit.setFault({ kind: "fail_before" });
    await expect(kit.run()).rejects.toMatchObject({ name: "InjectedFaultError" });
  });

  it("ends when the Leasehold is closed", async () => {
    const kit = await createKit();
    await start(kit, 60_000);
    kit.clock.setTimer(() => void kit.leasehold.close({ deadlineMs: 0 }), 500);
    const result = await kit.run({ deadlineMs: 60_000 });
    expect(result).toMatchObject({ isIdle: false, abortedJobs: 1 });
    expect(result.tookMs).toBeLessThanOrEqual(600);
  });

  it("subscribes to no notify adapter and leaves no timer behind", async () => {
    const refuse = () => Promise.reject(new Error("no connection to spare"));
    const kit = await createTestKit({ jobTypes });
    const own = await createKit({
      notifyAdapter: {
        ...kit.notifyAdapter,
        coversInProcess: false,
        listenJobScheduled: refuse,
        listenJobOwnershipLost: refuse,
        listenQueueResumed: refuse,
      },
    });
    await start(own, 10);
    expect(await own.run()).toMatchObject({ ranJobs: 1, isIdle: true });
    expect(own.clock.pendingTimers).toBe(0);
  });

  it("reports to the statistics before it returns, and is listed with no worker then", async () => {
    const stateAdapter = createInProcessStateAdapter();
    const leasehold = await createLeasehold({ stateAdapter, jobTypes });
    await leasehold.startJobSequence({ typeName: "last" });
    const worker = leasehold.createWorker().implementJobType({ typeName: "last", process: async () => null });
    expect(await worker.runUntilIdle({ deadlineMs: 10_000 })).toMatchObject({ ranJobs: 1, isIdle: true });
    expect(await leasehold.history.listProcesses()).toMatchObject([{ workers: [] }]);
    await leasehold.close();
  });

  it("prunes, although no run lasts for an interval", async () => {
    const kit = await createTestKit({ jobTypes, defaults: { retention: { completedMs: 1_000 } } });
    await kit.leasehold.startJobSequence({ typeName: "last" });
    const worker = kit.leasehold
      .createWorker()
      .implementJobType({ typeName: "last", process: async () => null });
    await kit.clock.runUntil(worker.runUntilIdle({ deadlineMs: 1_000 }));
    expect(await kit.leasehold.jobs.count()).toHaveLength(1);
    await kit.clock.advanceBy(2_000);
    await kit.clock.runUntil(worker.runUntilIdle({ deadlineMs: 1_000 }));
    expect(await kit.leasehold.jobs.count()).toEqual([]);
  });

  it("ends within a budget of real time", async () => {
    const leasehold = await createLeasehold({ stateAdapter: createInProcessStateAdapter(), jobTypes });
    await leasehold.startJobSequence({ typeName: "work", input: { ms: 0 } });
    const worker = leasehold.createWorker().implementJobType({
      typeName: "work",
      process: ({ signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    const from = performance.now();
    expect(await worker.runUntilIdle({ deadlineMs: 400 })).toMatchObject({ abortedJobs: 1, isIdle: false });
    // A wide margin, for a busy machine; what `stop` takes by default is seconds more.
    expect(performance.now() - from).toBeLessThan(2_000);
    await leasehold.close();
  });

  it.each([
    [{}, "deadlineMs"],
    [{ deadlineMs: 0 }, "deadlineMs"],
    [{ deadlineMs: 2_000, abortGraceMs: 2_000 }, "abortGraceMs"],
    [{ deadlineMs: 2_000, stopDeadlineMs: 1 }, "stopDeadlineMs"],
  ])("refuses %o", async (options, option) => {
    const { worker } = await createKit();
    await expect(worker.runUntilIdle(options as RunUntilIdleOptions)).rejects.toThrow(option);
  });
});
