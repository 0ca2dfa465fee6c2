import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addStored,
  countOf,
  emptyCounts,
  encodeCounts,
  estimatePercentiles,
  lastStep,
  mergeCounts,
  readCounts,
  type SlotCounts,
  stepOf,
  upperBound,
} from "./counts.ts";
import { createTally } from "./tally.ts";

const count = fc.integer({ min: 1, max: 1_000_000 });

/** Slots that this version knows, and some of a later one. */
const counts: fc.Arbitrary<SlotCounts> = fc
  .dictionary(fc.integer({ min: 0, max: 200 }).map(String), count)
  .map((slots) => {
    const all = emptyCounts();
    for (const [slot, number] of Object.entries(slots)) addStored(all, `[${slot},${number}]`);
    return all;
  });

const total = (all: SlotCounts): number => all.reduce((sum, number) => sum + number, 0);

describe("counts", () => {
  it("are the same when they have been stored", () => {
    fc.assert(
      fc.property(counts, (all) => {
        expect(mergeCounts([encodeCounts(all)])).toEqual(all);
      }),
    );
  });

  it("lose nothing when they are merged, in whatever order, also what only a later release counts", () => {
    fc.assert(
      fc.property(fc.array(counts), (all) => {
        const texts = all.map(encodeCounts);
        const merged = mergeCounts(texts);
        expect(total(merged)).toBe(all.reduce((sum, one) => sum + total(one), 0));
        expect(mergeCounts([...texts].reverse())).toEqual(merged);
        const half = Math.floor(texts.length / 2);
        const halves = [texts.slice(0, half), texts.slice(half)].map((part) =>
          encodeCounts(mergeCounts(part)),
        );
        expect(mergeCounts(halves)).toEqual(merged);
      }),
    );
  });

  it.each([
    "",
    "x",
    "null",
    "7",
    "[]",
    "[0]",
    '{"created":1}',
    '[0,"many"]',
    "[-1,1,0.5,1,1e9,1]",
    "[[0],[1]]",
  ])("of another origin count nothing: %s", (text) => {
    expect(mergeCounts([text])).toEqual(emptyCounts());
  });

  it("keep the slots that other versions have stored", () => {
    const slots = [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 16, 40, 100, 101, 161];
    const stored = JSON.stringify(slots.flatMap((slot) => [slot, slot + 1]));
    expect(readCounts(mergeCounts([stored]))).toEqual({
      created: 1,
      completed: 2,
      retried: 3,
      released: 4,
      reaped: 5,
      failed: {
        attempts_exhausted: 11,
        unrecoverable: 12,
        blocker_failed: 13,
        cancelled: 14,
        no_handler: 15,
        invalid_input: 16,
        expired: 17,
      },
      timeToStart: { "0": 41, "60": 101 },
      runTime: { "0": 102, "60": 162 },
    });
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
    const taken = tally.take();
    expect(taken).toMatchObject([lane, { queue: "other", typeName: "t" }]);
    expect(taken.map(({ counts: taken }) => readCounts(taken))).toMatchObject([
      { created: 2, failed: { cancelled: 1 }, timeToStart: { "4": 1 }, runTime: { "14": 1 } },
      { created: 0, completed: 1, timeToStart: {}, runTime: {} },
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
    expect(taken.at(-1)).toMatchObject({ queue: "", typeName: "t" });
    expect(readCounts(taken.at(-1)!.counts).created).toBe(500);
  });
});
