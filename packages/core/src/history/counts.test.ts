import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  countOf,
  encodeCounts,
  estimatePercentiles,
  lastStep,
  mergeCounts,
  parseCounts,
  readCounts,
  stepOf,
  type StoredCounts,
  upperBound,
} from "./counts.ts";
import { createTally } from "./tally.ts";

const count = fc.integer({ min: 1, max: 1_000_000 });

const histogram = fc.dictionary(fc.integer({ min: 0, max: lastStep }).map(String), count);

const counts: fc.Arbitrary<StoredCounts> = fc.record(
  {
    created: count,
    completed: count,
    failed: fc.dictionary(fc.constantFrom("cancelled", "expired", "__proto__"), count),
    timeToStart: histogram,
    runTime: histogram,
    // Of a later release.
    stopped: count,
    byHost: fc.dictionary(fc.string(), fc.dictionary(fc.string(), count)),
  },
  { requiredKeys: [] },
);

const total = (tree: StoredCounts): number =>
  Object.values(tree).reduce<number>(
    (sum, value) => sum + (typeof value === "number" ? value : total(value)),
    0,
  );

describe("counts", () => {
  it("are the same when they have been stored", () => {
    fc.assert(
      fc.property(counts, (tree) => {
        expect(parseCounts(encodeCounts(tree))).toEqual(tree);
      }),
    );
  });

  it("lose nothing when they are merged, in whatever order, also what only a later release counts", () => {
    fc.assert(
      fc.property(fc.array(counts), (trees) => {
        const texts = trees.map(encodeCounts);
        const merged = mergeCounts(texts);
        expect(total(merged)).toBe(trees.reduce((sum, tree) => sum + total(tree), 0));
        expect(mergeCounts([...texts].reverse())).toEqual(merged);
        const half = Math.floor(texts.length / 2);
        const halves = [texts.slice(0, half), texts.slice(half)].map((part) =>
          encodeCounts(mergeCounts(part)),
        );
        expect(mergeCounts(halves)).toEqual(merged);
      }),
    );
  });

  it.each(["", "x", "null", "7", "[]", '{"created":"many"}', '{"created":{"a":{"b":{"c":{"d":{"e":1}}}}}}'])(
    "of another origin count nothing: %s",
    (text) => {
      const { created, completed, failed } = readCounts(parseCounts(text));
      expect([created, completed, failed.cancelled]).toEqual([0, 0, 0]);
    },
  );

  it("never change a prototype", () => {
    mergeCounts(['{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}']);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("histograms", () => {
  it("have steps of √2 from 1 ms to 12 days", () => {
    expect([0, 0.4, 1, 1.01, 1.42, 2, 4, 2 ** 30, 1e12, Infinity].map(stepOf)).toEqual([
      0, 0, 0, 1, 2, 2, 4, 60, 60, 60,
    ]);
    expect(upperBound(lastStep) / 86_400_000).toBeCloseTo(12.4, 1);
  });

  it("hold a duration in the step whose bounds are around it", () => {
    fc.assert(
      fc.property(fc.double({ min: 1.001, max: 2 ** 30, noNaN: true }), (ms) => {
        const step = stepOf(ms);
        expect(ms).toBeLessThanOrEqual(upperBound(step) * (1 + 1e-9));
        expect(ms).toBeGreaterThan(upperBound(step - 1) * (1 - 1e-9));
      }),
    );
  });

  it("estimate percentiles within a step", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 1 }), (durations) => {
        const sorted = [...durations].sort((a, b) => a - b);
        const steps: Record<string, number> = {};
        for (const ms of durations) steps[stepOf(ms)] = (steps[stepOf(ms)] ?? 0) + 1;
        for (const share of [0.5, 0.95, 0.99]) {
          const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
          const estimate = estimatePercentiles(steps, [share])![0]!;
          expect(estimate).toBeLessThanOrEqual(exact * Math.SQRT2 + 1e-6);
          expect(estimate).toBeGreaterThanOrEqual(exact / Math.SQRT2 - 1);
        }
      }),
    );
    expect(estimatePercentiles({}, [0.5])).toBeNull();
    expect(countOf({ "3": 2, "5": 1 })).toBe(3);
  });
});

describe("the tally", () => {
  const lane = { queue: "q", typeName: "t" };

  it("adds up by queue and type, and begins anew when it has been taken", () => {
    let changes = 0;
    const tally = createTally(() => (changes += 1));
    tally.add(lane, "created");
    tally.add(lane, "created");
    tally.add(lane, "cancelled");
    tally.add({ ...lane, queue: "other" }, "completed");
    tally.addAttempt(lane, 3, 100);
    expect(changes).toBe(1);
    expect(tally.take()).toEqual([
      {
        ...lane,
        counts: { created: 2, failed: { cancelled: 1 }, timeToStart: { "4": 1 }, runTime: { "14": 1 } },
      },
      { queue: "other", typeName: "t", counts: { completed: 1, failed: {}, timeToStart: {}, runTime: {} } },
    ]);
    expect(tally.take()).toEqual([]);
    tally.add(lane, "reaped");
    expect(changes).toBe(2);
  });

  it("counts together what is in more queues than it can name", () => {
    const tally = createTally(() => {});
    for (let n = 0; n < 1_500; n++) tally.add({ queue: `q${n}`, typeName: "t" }, "created");
    const taken = tally.take();
    expect(taken.length).toBe(1_001);
    expect(taken.at(-1)).toMatchObject({ queue: "", typeName: "t", counts: { created: 500 } });
  });
});
