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
  approval: { input: null; output: null };
}>();

const setUp = async (options = {}) => {
  const clock = createManualClock();
  const store = createInProcessStateAdapter({ clock });
  // Processes report only where a test says so.
  const leasehold = await createLeasehold({ stateAdapter: store, jobTypes, statistics: false });
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
  const reportProcess = ({
    typeNames = [],
    workerless = [],
  }: {
    typeNames?: string[];
    workerless?: string[];
  }) => {
    const queues = [{ name: "default", concurrency: 1, claimAllTypes: false }];
    const workers = [{ id: "w1", concurrency: 1, queues, typeNames, running: 0 }];
    const info = JSON.stringify({ workers, workerless });
    return store.history.writeReport({
      reporter: { id: "process-1", deployment: null, startedAt: clock.now(), info },
      buckets: [],
      causes: [],
      maxAgeMs: 60_000,
    });
  };
  return { clock, store, leasehold, claim, stop, reportProcess, calls: recorded.calls, ...telemetry };
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

  it("do not take throttled, overdue and workerless jobs for runnable ones", async () => {
    const { leasehold, series, clock, claim, reportProcess } = await setUp();
    const ages = async () => [
      ...(await series("leasehold.store.oldest_runnable_age")),
      ...(await series("leasehold.store.oldest_unserved_age")),
    ];
    const start = (queue: string, options = {}) =>
      leasehold.startJobSequence({ typeName: "mail", queue, ...options });
    await leasehold.limits.pause({ queue: "paused" });
    await leasehold.limits.set({ queue: "limited", concurrency: 1 });
    await leasehold.limits.set({ queue: "rated", rate: { limit: 1, perMs: 3_600_000 } });
    for (const queue of ["paused", "limited", "limited", "rated", "rated"]) await start(queue);
    await start("overdue", { expireAfterMs: 1_000 });
    await leasehold.startJobSequence({ typeName: "approval", queue: "approvals" });
    await reportProcess({ workerless: ["approval"] });
    await claim("limited", 3_600_000);
    await claim("rated", 3_600_000);
    await clock.advanceBy(600_000);
    const found = await ages();
    expect(found).toHaveLength(10);
    expect(found.filter(({ value }) => value > 0)).toEqual([]);
    expect(await series("leasehold.store.jobs")).toContainEqual({
      attributes: { queue: "paused", typeName: "mail", status: "pending" },
      value: 1,
    });
  });

  it("tell apart what no live worker serves", async () => {
    const { leasehold, series, clock, reportProcess } = await setUp();
    const ages = async () => ({
      runnable: (await series("leasehold.store.oldest_runnable_age"))[0]?.value,
      unserved: (await series("leasehold.store.oldest_unserved_age"))[0]?.value,
    });
    await leasehold.startJobSequence({ typeName: "mail" });
    await clock.advanceBy(600_000);
    // No process reports: whether a worker is missing is not known.
    expect(await ages()).toEqual({ runnable: 600_000, unserved: 0 });
    await reportProcess({ typeNames: ["report"] });
    expect(await ages()).toEqual({ runnable: 0, unserved: 600_000 });
    await reportProcess({ typeNames: ["mail"] });
    expect(await ages()).toEqual({ runnable: 600_000, unserved: 0 });
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
    // A call that fails with a transient error is repeated once.
    ["fails", { kind: "fail_before" } as const, 2, 10_000],
    ["hangs", { kind: "hang" } as const, 1, 50],
  ])("report an error instead when the store %s, and recover", async (_name, fault, times, timeoutMs) => {
    const telemetry = createTelemetry();
    const store = createInProcessStateAdapter();
    const leasehold = await createLeasehold({ stateAdapter: store, jobTypes });
    await leasehold.startJobSequence({ typeName: "mail" });
    const failOnce = (next: typeof store) => withFaults(next, onNthCall("measureBacklog", 1, fault));
    const faulty = times === 1 ? failOnce(store) : failOnce(failOnce(store));
    telemetry.adapter.observeStore(faulty, { timeoutMs, maxAgeMs: 60_000 });
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
