import {
  createInProcessStateAdapter,
  createLeasehold,
  type DefineBlocker,
  defineUnionJobTypes,
} from "leasehold";
import { createManualClock, onNthCall, recordCalls, withFaults } from "leasehold/testing";
import { describe, expect, it } from "vitest";
import { createTelemetry } from "./testing/telemetry.ts";

const jobTypes = defineUnionJobTypes<{
  mail: { input: null; output: null };
  report: { input: null; output: null; blockers: [DefineBlocker<"mail">] };
}>();

const setUp = async (options = {}) => {
  const clock = createManualClock();
  const store = createInProcessStateAdapter({ clock });
  const leasehold = await createLeasehold({ stateAdapter: store, jobTypes });
  const telemetry = createTelemetry();
  const recorded = recordCalls(store);
  const stop = telemetry.adapter.observeStore(recorded.adapter, { maxAgeMs: 0, ...options });
  const claim = (queue: string, leaseMs: number) =>
    store.claimJobs({
      workerId: "w1",
      leaseToken: `token-${clock.now()}`,
      leaseMs,
      requests: [{ queue, typeNames: null, limit: 1 }],
      limit: 1,
    });
  return { clock, store, leasehold, claim, stop, calls: recorded.calls, ...telemetry };
};

describe("gauges from the store", () => {
  it("tell the backlog by queue, type and status, and go to zero when it is gone", async () => {
    const { leasehold, series, claim } = await setUp();
    await leasehold.startJobSequence({ typeName: "mail" });
    const { id } = await leasehold.startJobSequence({ typeName: "mail" });
    await leasehold.startJobSequence({ typeName: "mail", queue: "bulk" });
    await leasehold.startJobSequence({
      typeName: "report",
      startBlockers: async () => [await leasehold.startJobSequence({ typeName: "mail" })],
    });
    await claim("bulk", 1_000);
    await leasehold.jobs.cancel({ ids: [id] });
    const of = (queue: string, typeName: string, status: string, value: number) => ({
      attributes: { queue, typeName, status },
      value,
    });
    const backlog = await series("leasehold.store.jobs");
    expect(backlog).toHaveLength(4);
    expect(backlog).toEqual(
      expect.arrayContaining([
        of("default", "mail", "pending", 2),
        of("default", "mail", "failed", 1),
        of("default", "report", "blocked", 1),
        of("bulk", "mail", "running", 1),
      ]),
    );
    const { jobs } = await leasehold.jobs.list();
    await leasehold.deleteJobSequences({
      rootSequenceIds: [...new Set(jobs.map((job) => job.rootSequenceId))],
    });
    expect((await series("leasehold.store.jobs")).map(({ value }) => value)).toEqual([0, 0, 0, 0]);
  });

  it("tell limits, what counts against them, and pauses", async () => {
    const { leasehold, series, claim } = await setUp();
    await leasehold.limits.set({ typeName: "mail", concurrency: 1 });
    await leasehold.limits.pause({ queue: "bulk" });
    await leasehold.startJobSequence({ typeName: "mail" });
    await leasehold.startJobSequence({ typeName: "mail", group: "acme" });
    await claim("default", 1_000);
    const mail = { queue: "default", typeName: "mail" };
    expect(await series("leasehold.store.limited_running")).toEqual([{ attributes: mail, value: 1 }]);
    expect(await series("leasehold.store.concurrency_limit")).toEqual([{ attributes: mail, value: 1 }]);
    expect(await series("leasehold.store.held_lines")).toContainEqual({ attributes: mail, value: 1 });
    expect(await series("leasehold.store.paused")).toEqual(
      expect.arrayContaining([
        { attributes: mail, value: 0 },
        { attributes: { queue: "bulk", typeName: "" }, value: 1 },
      ]),
    );
  });

  it("tell how long the longest-waiting runnable job waits", async () => {
    const { leasehold, series, clock } = await setUp();
    const age = async () => (await series("leasehold.store.oldest_runnable_age"))[0];
    await leasehold.startJobSequence({ typeName: "mail", schedule: { afterMs: 60_000 } });
    expect(await age()).toEqual({ attributes: { queue: "default" }, value: 0 });
    await clock.advanceBy(1_000);
    await leasehold.startJobSequence({ typeName: "mail" });
    await clock.advanceBy(5_000);
    await leasehold.startJobSequence({ typeName: "mail" });
    expect(await age()).toMatchObject({ value: 5_000 });
    // The first comes due; the second still has waited longer.
    await clock.advanceBy(55_000);
    expect(await age()).toMatchObject({ value: 60_000 });
  });

  it("count up to a limit, and still tell the age beyond it", async () => {
    const { leasehold, series, clock } = await setUp({ scanLimit: 2 });
    await leasehold.startJobSequence({ typeName: "mail", priority: -1 });
    await clock.advanceBy(5_000);
    for (let later = 0; later < 3; later++)
      await leasehold.startJobSequence({ typeName: "mail", schedule: { afterMs: 60_000 } });
    expect(await series("leasehold.store.oldest_runnable_age")).toMatchObject([{ value: 5_000 }]);
    expect(await series("leasehold.store.jobs")).toMatchObject([{ value: 3 }]);
  });

  it("tell of leases that are over", async () => {
    const { leasehold, series, clock, claim } = await setUp();
    await leasehold.startJobSequence({ typeName: "mail" });
    await leasehold.startJobSequence({ typeName: "mail" });
    await claim("default", 1_000);
    await claim("default", 9_000);
    expect(await series("leasehold.store.expired_leases")).toMatchObject([{ value: 0 }]);
    await clock.advanceBy(2_000);
    expect(await series("leasehold.store.expired_leases")).toEqual([
      { attributes: { queue: "default" }, value: 1 },
    ]);
  });

  it("are read once for readers that ask within the same moments, and not at all after the end", async () => {
    const { collect, calls, stop } = await setUp({ maxAgeMs: 60_000 });
    await collect();
    await collect();
    const counts = () => calls.filter(({ method }) => method === "measureBacklog").length;
    expect(counts()).toBe(1);
    stop();
    await collect();
    expect(counts()).toBe(1);
  });

  it.each([
    ["fails", { kind: "fail_before" } as const],
    ["hangs", { kind: "hang" } as const],
  ])("report an error instead when the store %s, and recover", async (_name, fault) => {
    const telemetry = createTelemetry();
    const store = createInProcessStateAdapter();
    const leasehold = await createLeasehold({ stateAdapter: store, jobTypes });
    await leasehold.startJobSequence({ typeName: "mail" });
    const faulty = withFaults(store, onNthCall("measureBacklog", 1, fault));
    telemetry.adapter.observeStore(faulty, { timeoutMs: 50, maxAgeMs: 60_000 });
    expect(await telemetry.series("leasehold.store.jobs")).toEqual([]);
    expect(await telemetry.series("leasehold.state_adapter.error")).toEqual([
      { attributes: { operation: "observeStore" }, value: 1 },
    ]);
    expect(await telemetry.series("leasehold.store.jobs")).toHaveLength(1);
  });

  it("are refused for a state adapter without statistics", () => {
    const { statistics: _statistics, ...jobsOnly } = createInProcessStateAdapter();
    expect(() => createTelemetry().adapter.observeStore(jobsOnly)).toThrow(
      expect.objectContaining({ code: "StorePartMissing", operation: "observeStore" }),
    );
  });
});
