import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import pc from "picocolors";
import { describe, expect, it } from "vitest";
import { formatNumber } from "../store/numbers.ts";
import type { AnyDefinitions, AnyLeasehold } from "../store/store.ts";
import { renderLine, renderLive } from "./live-view.ts";
import { createSampler, type LiveSample, percentile } from "./sampler.ts";

const openStore = async (): Promise<{ leasehold: AnyLeasehold; stateAdapter: AnyStateAdapter }> => {
  const stateAdapter = createInProcessStateAdapter();
  const jobTypes = defineUnionJobTypes<AnyDefinitions>();
  return { stateAdapter, leasehold: (await createLeasehold({ stateAdapter, jobTypes })) as AnyLeasehold };
};

const runJobs = async (leasehold: AnyLeasehold, typeName: string, count: number): Promise<void> => {
  const started = await leasehold.startJobSequences({
    sequences: Array.from({ length: count }, () => ({ typeName, input: null })),
  });
  const worker = await leasehold
    .createWorker()
    .implementJobType({ typeName, process: async () => null })
    .start();
  for (const sequence of started) {
    await leasehold.waitForJobSequenceCompletion({ ...sequence, pollIntervalMs: 2 });
  }
  await worker.stop();
};

describe("sampling", () => {
  it("makes rates and latencies of what finished lately", async () => {
    const { leasehold, stateAdapter } = await openStore();
    let later = 0;
    const sample = createSampler({ stateAdapter, getTime: async () => Date.now() + later });
    await runJobs(leasehold, "mail", 4);
    await runJobs(leasehold, "parcel", 2);
    const first = await sample();
    expect(first.rows.map(({ typeName, perSecond }) => [typeName, perSecond])).toEqual([
      ["mail", 0.4],
      ["parcel", 0.2],
    ]);
    expect(first.perSecond).toBeCloseTo(0.6);
    expect(first.latency?.p95).toBeGreaterThanOrEqual(first.latency?.p50 ?? Infinity);

    // Nothing more happens: after the window the rate is back at nothing.
    later = 20_000;
    expect(await sample()).toMatchObject({ perSecond: 0, rows: [], latency: undefined });
  });

  it("counts up to ten thousand, and says where there are more", async () => {
    const { leasehold, stateAdapter } = await openStore();
    for (const typeName of ["many", "few"]) {
      await leasehold.startJobSequences({
        sequences: Array.from({ length: typeName === "many" ? 10_001 : 3 }, () => ({
          typeName,
          input: null,
        })),
      });
    }
    const taken = await createSampler({ stateAdapter })();
    expect(taken.rows.map((row) => formatNumber(row, "pending"))).toEqual(["3", "10,000+"]);
    expect(formatNumber(taken.total, "pending")).toBe("10,003+");
  });

  it("takes a full sample for the time that it covers, not for all of it", async () => {
    const at = 1_000_000;
    const { stateAdapter } = await openStore();
    const job = { queue: "default", typeName: "mail", status: "completed", createdAt: at - 5_000 } as const;
    const fast = {
      ...stateAdapter,
      statistics: {
        measureBacklog: async () => [],
        // 5,000 of them in the last half second.
        listRecentlyFinished: async () =>
          Array.from({ length: 5_000 }, (_, n) => ({ ...job, finishedAt: at - Math.floor(n / 10) })),
      },
    };
    const { perSecond } = await createSampler({ stateAdapter: fast, getTime: async () => at })();
    expect(Math.round(perSecond / 100)).toBe(100);
  });
});

describe("what processes have counted", () => {
  it("makes rates and times, and tells who is at work", async () => {
    const { leasehold, stateAdapter } = await openStore();
    let at = await stateAdapter.getTime();
    const sample = createSampler({ stateAdapter, leasehold, getTime: async () => at });
    await runJobs(leasehold, "mail", 4);
    await leasehold.startJobSequence({ typeName: "fax", input: null });
    await expect
      .poll(async () => {
        at = await stateAdapter.getTime();
        return (await sample()).rows.find(({ typeName }) => typeName === "mail")?.runTime?.p95;
      })
      .toBeGreaterThanOrEqual(0);
    const taken = await sample();
    const mail = taken.rows.find(({ typeName }) => typeName === "mail");
    expect(mail).toMatchObject({ latency: undefined, counts: { pending: 0 } });
    // Counted in stretches of ten seconds: four within ten to twenty of them.
    expect(mail?.perSecond).toBeGreaterThanOrEqual(0.2);
    expect(mail?.perSecond).toBeLessThanOrEqual(0.4);
    expect(taken.perSecond).toBe(mail?.perSecond);
    expect(taken.rows.find(({ typeName }) => typeName === "fax")).toMatchObject({
      perSecond: 0,
      timeToStart: undefined,
      counts: { pending: 1 },
    });
    expect(taken.workers).toEqual({ count: 0, slots: 0, running: 0 });
    const worker = await leasehold
      .createWorker()
      .implementJobType({ typeName: "other", process: async () => null })
      .start({ concurrency: 7 });
    await expect.poll(async () => (await sample()).workers).toEqual({ count: 1, slots: 7, running: 0 });
    await worker.stop();
    expect(await createSampler({ stateAdapter, leasehold, queue: ["another"] })()).toMatchObject({
      rows: [],
      perSecond: 0,
    });
  });

  it("is not asked for where nobody counts", async () => {
    const stateAdapter = createInProcessStateAdapter();
    const jobTypes = defineUnionJobTypes<AnyDefinitions>();
    const silent = await createLeasehold({ stateAdapter, jobTypes, statistics: false });
    const leasehold = silent as AnyLeasehold;
    await runJobs(leasehold, "mail", 2);
    const { history: _history, ...withoutHistory } = stateAdapter;
    for (const store of [stateAdapter, withoutHistory])
      expect(await createSampler({ stateAdapter: store, leasehold })()).toMatchObject({
        workers: undefined,
        rows: [{ typeName: "mail", latency: { p50: expect.any(Number) }, runTime: undefined }],
      });
  });
});

describe("drawing", () => {
  const sampleOf = (types: number): LiveSample => {
    const counts = { blocked: 0, pending: 1, running: 0, failed: 0 };
    return {
      at: new Date(0),
      rows: Array.from({ length: types }, (_, n) => ({
        queue: "default",
        typeName: `type-${n}`,
        counts: { ...counts, running: n === 7 ? 1 : 0 },
        atLeast: [],
        perSecond: 0,
        latency: undefined,
        timeToStart: undefined,
        runTime: undefined,
        held: undefined,
      })),
      total: { counts, atLeast: ["pending"] },
      perSecond: 2.5,
      latency: { p50: 12, p95: 1_500 },
      workers: undefined,
      history: [0, 1, 2],
    };
  };
  const screen = { colours: pc.createColors(false), columns: 100, rows: 12 };

  it("fits the terminal, and leaves out what has least going on", () => {
    const text = renderLive(screen, sampleOf(20), { title: "jobs", footer: ["q quits"] });
    expect(text.split("\n").length).toBeLessThanOrEqual(screen.rows);
    expect(text).toContain("type-7");
    expect(text).toContain("and 17 more");
  });

  it("has everything in a line for logs", () => {
    expect(renderLine(sampleOf(1))).toBe(
      "00:00:00  blocked 0  pending 1+  running 0  failed 0  2.5/s  p50 12 ms p95 1.5 s",
    );
  });

  it("takes percentiles by nearest rank", () => {
    expect(percentile([], 0.5)).toBeUndefined();
    expect([0.5, 0.95, 1].map((share) => percentile([1, 2, 3, 4], share))).toEqual([2, 4, 4]);
  });
});
