import { describe, expect, it } from "vitest";
import { InvalidOptionError } from "../base/errors.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import type { DefineBlocker } from "../job-types/markers.ts";
import type { LeaseholdEventName } from "../observability/events.ts";
import type { LogEntry } from "../observability/log.ts";
import { type Fault, type FaultPlan, onNthCall } from "../testing/fault-plans.ts";
import { InjectedFaultError, withFaults } from "../testing/faults.ts";
import { createTestKit, type TestKit } from "../testing/test-kit.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";

interface Types {
  work: { input: { n: number }; output: number };
}

const jobTypes = defineUnionJobTypes<Types>();

const createKit = async (plan: FaultPlan, options: { storeDeadlineMs?: number } = {}) => {
  const events: LogEntry[] = [];
  const executions: number[] = [];
  const kit: TestKit<Types> = await createTestKit({
    jobTypes,
    log: (entry) => events.push(entry),
    wrapStateAdapter: (adapter) => withFaults(adapter, plan),
    ...options,
  });
  const worker = kit.leasehold.createWorker().implementJobType({
    typeName: "work",
    process: async ({ job }) => {
      executions.push(job.input.n);
      return job.input.n * 2;
    },
  });
  const count = (name: LeaseholdEventName): number => events.filter(({ event }) => event === name).length;
  return { ...kit, worker, executions, count };
};

const startTen = async ({ leasehold, clock }: Pick<TestKit<Types>, "leasehold" | "clock">) => {
  const sequences = Array.from({ length: 10 }, (_, n) => ({ typeName: "work" as const, input: { n } }));
  return clock.runUntil(leasehold.startJobSequences({ sequences }));
};

const expectAllCompleted = async ({ leasehold }: Pick<TestKit<Types>, "leasehold">, attempt: number) => {
  const { jobs } = await leasehold.jobs.list({});
  expect(jobs.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => "completed"));
  expect(jobs.map((job) => job.attempt)).toEqual(Array.from({ length: 10 }, () => attempt));
};

const inOrder = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => a - b);

const eachOnce = Array.from({ length: 10 }, (_, n) => n);

describe("a worker whose store fails", () => {
  const faults: Record<string, Fault> = {
    "fails before it does anything": { kind: "fail_before" },
    "does it and loses the reply": { kind: "fail_after" },
    "never answers": { kind: "hang" },
  };
  const methods = ["claimJobs", "commitOutcomes", "nextRunnableIn", "renewLeases", "reapExpiredLeases"];

  for (const [name, fault] of Object.entries(faults)) {
    for (const method of methods) {
      it(`runs every job once when the first ${method} ${name}`, async () => {
        const kit = await createKit(onNthCall(method, 1, fault));
        await startTen(kit);
        await kit.drain(kit.worker);
        await expectAllCompleted(kit, 1);
        expect(inOrder(kit.executions)).toEqual(eachOnce);
      });
    }
  }

  it.each(["alone", "in a batch"])("counts no attempt when blockers cannot be read (%s)", async (way) => {
    interface Blocked {
      part: { input: null; output: number };
      whole: { input: null; output: number; blockers: [DefineBlocker<"part">] };
    }
    const events: LogEntry[] = [];
    // The first claim gets no answer however often it asks.
    const { leasehold, clock, drain } = await createTestKit<Blocked>({
      jobTypes: defineUnionJobTypes<Blocked>(),
      log: (entry) => events.push(entry),
      wrapStateAdapter: (adapter) =>
        withFaults(adapter, ({ method, nth }) =>
          method === "getBlockers" && nth <= 3 ? { kind: "fail_before" } : undefined,
        ),
    });
    const { id } = await clock.runUntil(
      leasehold.startJobSequence({
        typeName: "whole",
        input: null,
        maxAttempts: 1,
        startBlockers: async () => [await leasehold.startJobSequence({ typeName: "part", input: null })],
      }),
    );
    const parts = leasehold.createWorker().implementJobType({ typeName: "part", process: async () => 2 });
    const worker =
      way === "alone"
        ? parts.implementJobType({ typeName: "whole", process: async ({ job }) => job.blockers[0].output })
        : parts.implementJobTypeBatch({
            typeName: "whole",
            maxSize: 5,
            process: async ({ jobs }) => jobs.map((job) => job.blockers[0].output),
          });
    await drain(worker);
    expect(await leasehold.jobs.get({ id })).toMatchObject({ status: "pending", attempt: 0 });
    await clock.advanceBy(1_000);
    await drain(worker);
    expect(await leasehold.jobs.get({ id })).toMatchObject({ status: "completed", attempt: 1, output: 2 });
    expect(events.map(({ event }) => event)).toContain("jobAttemptReleased");
  });

  it("recovers the jobs of a claim whose reply was lost, without waiting for the lease", async () => {
    const kit = await createKit(onNthCall("claimJobs", 1, { kind: "fail_after" }));
    await startTen(kit);
    const before = kit.clock.monotonic();
    await kit.drain(kit.worker);
    expect(kit.clock.monotonic() - before).toBeLessThan(1_000);
    await expectAllCompleted(kit, 1);
  });

  it("takes the outcome whose reply was lost as written", async () => {
    const kit = await createKit(onNthCall("commitOutcomes", 1, { kind: "fail_after" }));
    await startTen(kit);
    await kit.drain(kit.worker);
    await expectAllCompleted(kit, 1);
    expect(kit.count("jobAttemptFenced")).toBe(0);
  });

  it("outlives a store that is down for longer than a lease", async () => {
    let down = false;
    const kit = await createKit(() => (down ? { kind: "fail_before" } : undefined));
    await startTen(kit);
    down = true;
    const worker = await kit.clock.runUntil(kit.worker.start());
    await kit.clock.advanceBy(120_000);
    expect(kit.executions).toEqual([]);
    expect(worker.health().healthy).toBe(false);
    down = false;
    await kit.clock.runUntil(async () => kit.executions.length === 10);
    await kit.clock.runUntil(() => worker.health().healthy);
    await kit.clock.runUntil(worker.stop());
    await expectAllCompleted(kit, 1);
    expect(worker.health()).toMatchObject({ healthy: true, state: "stopped" });
  });

  it("gives up a result when the lease has run out before the store is back", async () => {
    let down = false;
    const kit = await createKit(({ method }) =>
      down && method !== "claimJobs" ? { kind: "fail_before" } : undefined,
    );
    const worker = kit.leasehold
      .createWorker()
      .implementJobType({ typeName: "work", process: async () => 1 });
    await startTen(kit);
    down = true;
    // Longer than the lease, so that the worker does not use up the attempts by claiming the jobs again and again.
    const workerLoopRetryConfig = { maxDelayMs: 5_000 };
    const running = await kit.clock.runUntil(worker.start({ leaseMs: 3_000, workerLoopRetryConfig }));
    await kit.clock.runUntil(() => kit.count("jobAttemptLeaseExpired") === 10);
    down = false;
    await kit.clock.runUntil(
      async () => (await kit.leasehold.jobs.count({ status: "completed" }))[0]?.count === 10,
    );
    await kit.clock.runUntil(running.stop());
    const { jobs } = await kit.leasehold.jobs.list({});
    for (const job of jobs) expect(job.attempt).toBeGreaterThan(1);
  });
});

describe("a start whose reply was lost", () => {
  it("is recognised as its own on the second try", async () => {
    const kit = await createKit(onNthCall("createJobs", 1, { kind: "fail_after" }));
    const id = "01900000-0000-7000-8000-000000000001";
    const started = await kit.clock.runUntil(
      kit.leasehold.startJobSequence({
        typeName: "work",
        input: { n: 1 },
        id,
        deduplication: { key: "k" },
      }),
    );
    expect(started).toMatchObject({ id, deduplicated: false });
    expect(await kit.leasehold.jobs.count()).toMatchObject([{ count: 1 }]);
  });

  it("is not confused with another job of the same id", async () => {
    const kit = await createKit(onNthCall("createJobs", 2, { kind: "fail_before" }));
    const id = "01900000-0000-7000-8000-000000000001";
    await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 }, id });
    const second = kit.leasehold.startJobSequence({ typeName: "work", input: { n: 2 }, id });
    await expect(kit.clock.runUntil(second)).rejects.toMatchObject({ code: "JobAlreadyExists", ids: [id] });
  });

  it("fails after its tries with the store's own error", async () => {
    const kit = await createKit(({ method }) =>
      method === "createJobs" ? { kind: "fail_before" } : undefined,
    );
    const start = kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
    await expect(kit.clock.runUntil(start)).rejects.toBeInstanceOf(InjectedFaultError);
    expect(kit.count("stateAdapterError")).toBe(3);
  });

  it("fails with StoreCallTimeout when the store never answers", async () => {
    const kit = await createKit(({ method }) => (method === "createJobs" ? { kind: "hang" } : undefined), {
      storeDeadlineMs: 500,
    });
    const start = kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
    await expect(kit.clock.runUntil(start)).rejects.toMatchObject({
      code: "StoreCallTimeout",
      operation: "createJobs",
    });
  });
});

describe("an outcome the store cannot take", () => {
  it("harms neither its neighbours nor the record of its failure", async () => {
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) =>
        wrapAdapter(adapter, (method, original) =>
          method !== "commitOutcomes"
            ? original
            : async (call) => {
                const { outcomes } = call as { outcomes: { output?: string; error?: string | null }[] };
                // As a database does that meets bytes it cannot encode: the whole statement fails.
                const unwritable = outcomes.some(({ output, error }) => output === "6" || error);
                if (unwritable) throw new Error("invalid byte sequence");
                return original(call);
              },
        ),
    });
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "work",
      maxAttempts: 1,
      process: async ({ job }) => job.input.n * 2,
    });
    const sequences = await startTen(kit);
    await kit.drain(worker);
    const statuses = await Promise.all(
      sequences.map(async ({ id }) => (await kit.leasehold.jobs.get({ id }))?.status),
    );
    expect(statuses).toEqual(eachOnce.map((n) => (n === 3 ? "failed" : "completed")));
  });
});

describe("a transaction that cannot be begun at first", () => {
  it("is begun again, because nothing of it has happened", async () => {
    const kit = await createKit(onNthCall("runInTransaction", 1, { kind: "fail_before" }));
    let runs = 0;
    const result = await kit.clock.runUntil(
      kit.leasehold.runInTransaction(async () => {
        runs += 1;
        await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
        return "done";
      }),
    );
    expect([result, runs]).toEqual(["done", 1]);
    expect(await kit.leasehold.jobs.count()).toMatchObject([{ count: 1 }]);
  });

  it("is not run a second time when its end is in doubt", async () => {
    const kit = await createKit(onNthCall("runInTransaction", 1, { kind: "fail_after" }));
    let runs = 0;
    const outcome = kit.leasehold.runInTransaction(async () => {
      runs += 1;
    });
    await expect(kit.clock.runUntil(outcome)).rejects.toBeInstanceOf(InjectedFaultError);
    expect(runs).toBe(1);
  });

  it("waits between failures as workerLoopRetryConfig says", async () => {
    const claims: number[] = [];
    const { leasehold, clock } = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) =>
        withFaults(
          adapter,
          ({ method }) => {
            if (method !== "claimJobs") return undefined;
            claims.push(clock.monotonic());
            return { kind: "fail_before" };
          },
          { transient: false },
        ),
    });
    const worker = await leasehold
      .createWorker()
      .implementJobType({ typeName: "work", process: async ({ job }) => job.input.n })
      .start({ workerLoopRetryConfig: { initialDelayMs: 2_000, maxDelayMs: 6_000 } });
    await clock.runUntil(() => claims.length === 6);
    await clock.runUntil(worker.stop());
    const waits = claims.slice(1).map((at, index) => at - claims[index]!);
    for (const [index, longest] of [2_000, 4_000, 6_000, 6_000, 6_000].entries()) {
      expect(waits[index]).toBeLessThanOrEqual(longest);
      expect(waits[index]).toBeGreaterThanOrEqual(longest / 2);
    }
  });

  it.each([{ initialDelayMs: 0 }, { maxDelayMs: -1 }, { maxDelay: 1_000 }, 5])(
    "refuses the workerLoopRetryConfig %j",
    async (workerLoopRetryConfig) => {
      const { leasehold } = await createTestKit({ jobTypes });
      const worker = leasehold.createWorker().implementJobType({ typeName: "work", process: async () => 1 });
      await expect(worker.start({ workerLoopRetryConfig } as object)).rejects.toThrow(InvalidOptionError);
    },
  );
});
