import { describe, expect, it } from "vitest";
import { createDeferred } from "../base/async.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import type { LogEntry } from "../observability/log.ts";
import { createDeterministicRuntime } from "../testing/deterministic-runtime.ts";
import { withFaults } from "../testing/faults.ts";
import { recordCalls } from "../testing/record-calls.ts";
import { createTestKit } from "../testing/test-kit.ts";

interface Types {
  slow: { input: { ms: number }; output: null };
}

const jobTypes = defineUnionJobTypes<Types>();

const slow = (ms: number) => ({ typeName: "slow" as const, input: { ms } });

const count = 60;

/** A handler's work that ends only with its signal. */
const untilAborted = (signal: AbortSignal, onAbort: () => void): Promise<never> =>
  new Promise((_, reject) =>
    signal.addEventListener("abort", () => {
      onAbort();
      reject(new Error("aborted"));
    }),
  );

describe("leases", () => {
  it("are renewed for jobs that wait in the buffer, so that none runs twice", async () => {
    const kit = await createTestKit({ jobTypes });
    const executed: string[] = [];
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "slow",
      process: async ({ job }) => {
        executed.push(job.id);
        // The first dozen are quick, which talks the worker into a buffer; then each takes more than a lease.
        if (executed.length > 12)
          await new Promise<void>((resolve) => kit.clock.setTimer(resolve, job.input.ms));
        return null;
      },
    });
    await kit.leasehold.startJobSequences({ sequences: Array.from({ length: count }, () => slow(2_500)) });
    await kit.drain(worker, { concurrency: 2, prefetch: 50, leaseMs: 100 });
    expect(new Set(executed).size).toBe(count);
    expect(executed.length).toBe(count);
  });

  it("end with complete, and a handler that goes on keeps its signal", async () => {
    const events: string[] = [];
    const log = ({ event }: LogEntry): void => {
      events.push(event);
    };
    const { leasehold, clock, drain } = await createTestKit({ jobTypes, log });
    let abortedMeanwhile: boolean | undefined;
    const worker = leasehold.createWorker().implementJobType({
      typeName: "slow",
      process: async ({ job, complete, signal }) => {
        const completed = await complete(() => null);
        await new Promise<void>((resolve) => clock.setTimer(resolve, job.input.ms));
        abortedMeanwhile = signal.aborted;
        return completed;
      },
    });
    await leasehold.startJobSequence(slow(5_000));
    await drain(worker, { leaseMs: 1_000 });
    expect(abortedMeanwhile).toBe(false);
    expect(events).toContain("jobAttemptCompleted");
    expect(events).not.toContain("jobAttemptAlreadyCompleted");
    expect(events).not.toContain("jobAttemptLeaseExpired");
  });

  it("of a job whose handler stops the worker before it returns is not given back", async () => {
    const { leasehold, clock } = await createTestKit({ jobTypes });
    let stopping: Promise<unknown> | undefined;
    const worker = leasehold.createWorker().implementJobType({
      typeName: "slow",
      process: () => {
        stopping ??= running.stop();
        return Promise.resolve(null);
      },
    });
    const running = await clock.runUntil(worker.start({ concurrency: 1, prefetch: 10 }));
    const [first] = await clock.runUntil(
      leasehold.startJobSequences({ sequences: Array.from({ length: 3 }, () => slow(0)) }),
    );
    await clock.runUntil(async () => stopping !== undefined);
    expect(await clock.runUntil(stopping!)).toMatchObject({ releasedJobs: 0 });
    expect(await leasehold.jobs.getSequence({ id: first!.id, typeName: "slow" })).toMatchObject({
      status: "completed",
    });
  });

  it("follow the shortest lease among the job types", async () => {
    const types = defineJobTypes({
      brief: { input: typeOnly<null>(), output: typeOnly<null>(), leaseMs: 300 },
    });
    const kit = await createTestKit({ jobTypes: types });
    let executions = 0;
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "brief",
      process: async () => {
        executions += 1;
        await new Promise<void>((resolve) => kit.clock.setTimer(resolve, 5_000));
        return null;
      },
    });
    await kit.leasehold.startJobSequence({ typeName: "brief", input: null });
    await kit.drain(worker, { leaseMs: 60_000, reapIntervalMs: 50 });
    expect(executions).toBe(1);
  });

  it("are renewed together, in one call", async () => {
    let calls: ReturnType<typeof recordCalls>["callsOf"] = () => [];
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) => {
        const recorded = recordCalls(adapter);
        calls = recorded.callsOf;
        return recorded.adapter;
      },
    });
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "slow",
      process: async ({ job }) => {
        await new Promise<void>((resolve) => kit.clock.setTimer(resolve, job.input.ms));
        return null;
      },
    });
    await kit.leasehold.startJobSequences({ sequences: Array.from({ length: 20 }, () => slow(25_000)) });
    await kit.drain(worker, { concurrency: 20, leaseMs: 30_000 });
    const renewals = calls("renewLeases").map(({ args }) => (args[0] as { leases: unknown[] }).leases.length);
    expect(renewals).toEqual([20, 20]);
  });

  it("abort the handler when they cannot be renewed", async () => {
    const reasons: unknown[] = [];
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) =>
        withFaults(adapter, ({ method }) => (method === "renewLeases" ? { kind: "fail_before" } : undefined)),
    });
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "slow",
      maxAttempts: 1,
      process: ({ signal }) => untilAborted(signal, () => reasons.push(signal.reason)),
    });
    await kit.leasehold.startJobSequence(slow(0));
    await kit.drain(worker, { leaseMs: 1_000 });
    expect(reasons[0]).toBe("error");
  });

  it("do not depend on the clocks of workers", async () => {
    const store = await createTestKit({ jobTypes });
    const workerClocks = [3_600_000, -3_600_000].map((ms, index) => {
      const runtime = createDeterministicRuntime({ seed: `worker ${index}`, clock: store.clock });
      return { ...runtime, clock: { ...store.clock, now: () => store.clock.now() + ms } };
    });
    const executed: string[] = [];
    const workers = await Promise.all(
      workerClocks.map(async (runtime) => {
        const leasehold = await createLeasehold({ stateAdapter: store.stateAdapter, jobTypes, runtime });
        return leasehold
          .createWorker()
          .implementJobType({
            typeName: "slow",
            process: async ({ job }) => {
              executed.push(job.id);
              await new Promise<void>((resolve) => store.clock.setTimer(resolve, job.input.ms));
              return null;
            },
          })
          .start({ leaseMs: 1_000, concurrency: 3 });
      }),
    );
    await store.leasehold.startJobSequences({ sequences: Array.from({ length: 12 }, () => slow(4_000)) });
    await store.clock.runUntil(
      async () => (await store.leasehold.jobs.count({ status: "completed" }))[0]?.count === 12,
    );
    await store.clock.runUntil(Promise.all(workers.map((worker) => worker.stop())));
    expect(executed.length).toBe(12);
    expect(new Set(executed).size).toBe(12);
  });

  it("fence a worker from its own earlier attempt at the same job", async () => {
    const events: LogEntry[] = [];
    let paused = true;
    const kit = await createTestKit({
      jobTypes,
      log: (entry) => events.push(entry),
      wrapStateAdapter: (adapter) =>
        withFaults(adapter, ({ method }) =>
          paused && method === "renewLeases" ? { kind: "fail_before" } : undefined,
        ),
    });
    const first = createDeferred<null>();
    const attempts: number[] = [];
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "slow",
      process: async ({ job }) => {
        attempts.push(job.attempt);
        if (job.attempt === 1) return first.promise;
        return null;
      },
    });
    const { id } = await kit.leasehold.startJobSequence(slow(0));
    const running = await kit.clock.runUntil(
      worker.start({ leaseMs: 1_000, reapIntervalMs: 200, abortGraceMs: 60_000 }),
    );
    await kit.clock.runUntil(async () => (await kit.leasehold.jobs.get({ id }))?.status === "completed");
    paused = false;
    first.resolve(null);
    await kit.clock.runUntil(running.stop());
    expect(attempts).toEqual([1, 2]);
    expect(await kit.leasehold.jobs.get({ id })).toMatchObject({ status: "completed", attempt: 2 });
  });
});

describe("a renewal that never answers", () => {
  it("does not keep the handler from learning in time that its lease is over", async () => {
    const abortedAt: number[] = [];
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) =>
        withFaults(adapter, ({ method }) => (method === "renewLeases" ? { kind: "hang" } : undefined)),
    });
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "slow",
      maxAttempts: 1,
      process: ({ signal }) => untilAborted(signal, () => abortedAt.push(kit.clock.monotonic())),
    });
    const startedAt = kit.clock.monotonic();
    await kit.leasehold.startJobSequence({ ...slow(0), maxAttempts: 1 });
    await kit.drain(worker, { leaseMs: 1_000 });
    expect(abortedAt[0]! - startedAt).toBeLessThanOrEqual(1_000);
  });
});
