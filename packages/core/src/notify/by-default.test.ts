import { describe, expect, it } from "vitest";
import { createDeferred } from "../base/async.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import type { LogEntry } from "../observability/log.ts";
import { createDeterministicRuntime } from "../testing/deterministic-runtime.ts";
import type { NotifyAdapter } from "./contract.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: null; output: string } }>();

// Far below every poll interval that is involved.
const atOnceMs = 20;

const createKit = async (notifyAdapter?: NotifyAdapter) => {
  const runtime = createDeterministicRuntime({ seed: 1 });
  const { clock } = runtime;
  const stateAdapter = createInProcessStateAdapter({ clock });
  const log: LogEntry[] = [];
  const open = () =>
    createLeasehold({ stateAdapter, notifyAdapter, jobTypes, runtime, log: (entry) => log.push(entry) });
  const leasehold = await open();
  let begun = createDeferred<number>();
  const worker = await clock.runUntil(
    leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async () => {
          begun.resolve(clock.now());
          return "done";
        },
      })
      .start({ pollIntervalMs: 60_000 }),
  );
  // Until it has looked once and gone to sleep.
  await clock.advanceBy(100);
  const msUntilBegun = async (start: () => Promise<unknown>): Promise<number> => {
    begun = createDeferred();
    const from = clock.now();
    await clock.runUntil(start());
    return (await clock.runUntil(begun.promise)) - from;
  };
  return { leasehold, open, stateAdapter, clock, log, worker, msUntilBegun };
};

const hang = () => new Promise<never>(() => {});

const hanging: NotifyAdapter = {
  notifyJobScheduled: hang,
  listenJobScheduled: hang,
  notifyJobSequenceCompleted: hang,
  listenJobSequenceCompleted: hang,
  notifyJobOwnershipLost: hang,
  listenJobOwnershipLost: hang,
  notifyQueueResumed: hang,
  listenQueueResumed: hang,
  close: async () => {},
};

describe("without a notify adapter", () => {
  it("a worker of the same process hears of a job at once", async () => {
    const { leasehold, open, msUntilBegun } = await createKit();
    const start = () => leasehold.startJobSequence({ typeName: "work" });
    expect(await msUntilBegun(start)).toBeLessThan(atOnceMs);
    expect(await msUntilBegun(() => leasehold.runInTransaction(start))).toBeLessThan(atOnceMs);
    const other = await open();
    expect(await msUntilBegun(() => other.startJobSequence({ typeName: "work" }))).toBeLessThan(atOnceMs);
  });

  it("a worker hears at once that a queue was resumed, or a limit raised", async () => {
    const { leasehold, clock, msUntilBegun } = await createKit();
    const queue = "default";
    await leasehold.limits.pause({ queue });
    await leasehold.startJobSequence({ typeName: "work" });
    await clock.advanceBy(100);
    expect(await msUntilBegun(() => leasehold.limits.resume({ queue }))).toBeLessThan(atOnceMs);
    await clock.advanceBy(100);
    await leasehold.limits.set({ queue, rate: { limit: 1, perMs: 3_600_000 } });
    await clock.runUntil(
      leasehold.waitForJobSequenceCompletion({
        ...(await leasehold.startJobSequence({ typeName: "work" })),
        timeoutMs: 60_000,
      }),
    );
    await leasehold.startJobSequence({ typeName: "work" });
    await clock.advanceBy(100);
    expect(await msUntilBegun(() => leasehold.limits.set({ queue, rate: null }))).toBeLessThan(atOnceMs);
  });

  it("whoever waits for the end of a sequence hears of it at once", async () => {
    const { leasehold, clock } = await createKit();
    const started = await leasehold.startJobSequence({ typeName: "work" });
    const from = clock.now();
    const { output } = await clock.runUntil(
      leasehold.waitForJobSequenceCompletion({ ...started, pollIntervalMs: 10_000 }),
    );
    expect(output).toBe("done");
    expect(clock.now() - from).toBeLessThan(atOnceMs);
  });

  it("a start in a transaction that only the caller ends is warned of once, with the remedy", async () => {
    const { leasehold, stateAdapter, clock, log } = await createKit();
    for (let n = 0; n < 3; n += 1) {
      await clock.runUntil(
        stateAdapter.runInTransaction((ctx) => leasehold.startJobSequence({ ...ctx, typeName: "work" })),
      );
    }
    const warnings = log.filter(({ event }) => event === "notifyContextAbsence");
    expect(warnings).toMatchObject([{ level: "warn", data: { operation: "startJobSequence" } }]);
    expect(warnings[0]!.message).toMatch(/runInTransaction.*withNotify/);
  });

  it("withNotify around such a transaction sends the notification, and nothing is said", async () => {
    const { leasehold, stateAdapter, log, msUntilBegun } = await createKit();
    const start = () =>
      leasehold.withNotify(() =>
        stateAdapter.runInTransaction((ctx) => leasehold.startJobSequence({ ...ctx, typeName: "work" })),
      );
    expect(await msUntilBegun(start)).toBeLessThan(atOnceMs);
    expect(log.filter(({ event }) => event === "notifyContextAbsence")).toEqual([]);
  });
});

describe("with a notify adapter that hangs", () => {
  it("a worker of the same process hears of a job at once", async () => {
    const { leasehold, clock, msUntilBegun } = await createKit(hanging);
    const start = () => leasehold.startJobSequence({ typeName: "work" });
    expect(await msUntilBegun(start)).toBeLessThan(atOnceMs);
    // The first notification hangs in the transport by now, and the next must not wait behind it.
    await clock.advanceBy(100);
    expect(await msUntilBegun(start)).toBeLessThan(atOnceMs);
  });

  it("the error says that it is the notify adapter, not the store", async () => {
    const { leasehold, clock, log } = await createKit(hanging);
    await leasehold.startJobSequence({ typeName: "work" });
    await clock.advanceBy(10_000);
    const errors = log.filter(({ event }) => event === "notifyAdapterError").map(({ data }) => data);
    for (const operation of ["listenJobScheduled", "listenJobOwnershipLost", "notifyJobScheduled"]) {
      expect(errors).toContainEqual({
        operation,
        error: expect.objectContaining({ code: "NotifyTimeout", operation, timeoutMs: 5_000 }),
      });
    }
  });

  it("a wait for a sequence that has ended returns soon", async () => {
    const { leasehold, clock } = await createKit(hanging);
    const started = await leasehold.startJobSequence({ typeName: "work" });
    await clock.advanceBy(1_000);
    const from = clock.now();
    await clock.runUntil(leasehold.waitForJobSequenceCompletion(started));
    expect(clock.now() - from).toBeLessThanOrEqual(100);
  });
});

describe("a subscription that fails when the worker starts", () => {
  it("is tried again until it succeeds, and ends with the worker", async () => {
    let tries = 0;
    let listeners = 0;
    let onScheduled: (typeName: string) => void = () => {};
    const flaky: NotifyAdapter = {
      ...hanging,
      listenJobScheduled: async (typeNames, listener) => {
        if (!typeNames?.includes("work")) return async () => {};
        tries += 1;
        if (tries < 4) throw new Error("The broker is not up yet.");
        listeners += 1;
        onScheduled = listener;
        return async () => void (listeners -= 1);
      },
      listenJobOwnershipLost: async () => async () => {},
      listenQueueResumed: async () => async () => {},
    };
    const { clock, worker, log, stateAdapter, leasehold, msUntilBegun } = await createKit(flaky);
    await clock.advanceBy(60_000);
    expect([tries, listeners]).toEqual([4, 1]);
    expect(log.filter(({ event }) => event === "notifyAdapterError")).toHaveLength(3);
    // As if from another process: nothing but the adapter tells of it.
    const start = async () => {
      await stateAdapter.runInTransaction((ctx) => leasehold.startJobSequence({ ...ctx, typeName: "work" }));
      onScheduled("work");
    };
    expect(await msUntilBegun(start)).toBeLessThan(atOnceMs);
    await clock.runUntil(worker.stop());
    expect(listeners).toBe(0);
  });

  it("is not tried again once the worker has stopped", async () => {
    let tries = 0;
    const down: NotifyAdapter = {
      ...hanging,
      listenJobScheduled: async () => {
        tries += 1;
        throw new Error("The broker is down.");
      },
    };
    const { clock, worker } = await createKit(down);
    await clock.runUntil(worker.stop());
    const before = tries;
    await clock.advanceBy(120_000);
    expect(tries).toBe(before);
  });
});
