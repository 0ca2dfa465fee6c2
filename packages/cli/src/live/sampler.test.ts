import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";
import pc from "picocolors";
import { describe, expect, it } from "vitest";
import type { AnyDefinitions, AnyLeasehold } from "../store/store.ts";
import { percentile } from "./percentile.ts";
import { renderLine, renderLive } from "./render.ts";
import { createSampler, type LiveSample } from "./sampler.ts";

const openStore = async (): Promise<AnyLeasehold> =>
  (await createLeasehold({
    stateAdapter: createInProcessStateAdapter(),
    jobTypes: defineUnionJobTypes<AnyDefinitions>(),
  })) as AnyLeasehold;

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
  it("makes rates of what was completed between looks, and latencies of recent jobs", async () => {
    const leasehold = await openStore();
    let now = Date.now();
    const sample = createSampler({ leasehold, getTime: async () => now });
    await runJobs(leasehold, "mail", 3);
    const first = await sample();
    expect(first).toMatchObject({ perSecond: 0, total: { completed: 3 } });
    expect(first.latency?.p95).toBeGreaterThanOrEqual(first.latency?.p50 ?? Infinity);

    await runJobs(leasehold, "mail", 4);
    await runJobs(leasehold, "parcel", 2);
    now += 2_000;
    const second = await sample();
    expect(second.rows.map(({ typeName, perSecond }) => [typeName, perSecond])).toEqual([
      ["mail", 2],
      ["parcel", 1],
    ]);
    expect(second.perSecond).toBe(3);

    // Nothing more happens: after the window the rate is back at nothing.
    now += 20_000;
    expect((await sample()).perSecond).toBe(0);
  });

  it("takes deleted jobs for no work, rather than for negative work", async () => {
    const leasehold = await openStore();
    let now = Date.now();
    const sample = createSampler({ leasehold, getTime: async () => now });
    await runJobs(leasehold, "mail", 3);
    await sample();
    const { jobs } = await leasehold.listJobs();
    await leasehold.deleteJobSequences({ rootSequenceIds: jobs.slice(1).map(({ id }) => id) });
    now += 1_000;
    expect((await sample()).perSecond).toBe(0);
  });
});

describe("drawing", () => {
  const sampleOf = (types: number): LiveSample => {
    const counts = { blocked: 0, pending: 1, running: 0, completed: 5, failed: 0 };
    return {
      at: new Date(0),
      rows: Array.from({ length: types }, (_, n) => ({
        queue: "default",
        typeName: `type-${n}`,
        counts: { ...counts, running: n === 7 ? 1 : 0 },
        perSecond: 0,
        latency: undefined,
      })),
      total: counts,
      perSecond: 2.5,
      latency: { p50: 12, p95: 1_500 },
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
      "00:00:00  blocked 0  pending 1  running 0  completed 5  failed 0  2.5/s  p50 12 ms p95 1.5 s",
    );
  });

  it("takes percentiles by nearest rank", () => {
    expect(percentile([], 0.5)).toBeUndefined();
    expect([0.5, 0.95, 1].map((share) => percentile([1, 2, 3, 4], share))).toEqual([2, 4, 4]);
  });
});
