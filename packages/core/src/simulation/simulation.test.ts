import { describe, expect, it } from "vitest";
import type { CancelResult } from "../store/contract/outcomes.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";
import { shrinkSimulation } from "./shrink.ts";
import { simulate, type SimulationOptions } from "./simulate.ts";
import { formatTimeline } from "./timeline.ts";
import { traceHash } from "./trace-hash.ts";

const seeds = 500;
const seedsPerTest = 100;
/** These have failed before. */
const oldFailures = [92_003_581, 551_001_078, 620_004_359, 640_009_286];

const findViolations = async (seed: number): Promise<string[]> =>
  (await simulate({ seed })).violations.map(({ invariant, message }) => `${invariant}: ${message}`);

describe("the simulation", () => {
  it.each(oldFailures)("holds every invariant for the seed %i, which has failed before", async (seed) => {
    expect(await findViolations(seed)).toEqual([]);
  });

  for (let from = 1; from <= seeds; from += seedsPerTest) {
    it(`holds every invariant for the seeds from ${from}`, { timeout: 120_000 }, async () => {
      for (let seed = from; seed < from + seedsPerTest; seed += 1) {
        expect(await findViolations(seed), `npm run simulate -- --seeds 1 --from ${seed}`).toEqual([]);
      }
    });
  }

  it("goes the same way for the same seed, and another for another", async () => {
    const hashes = async (): Promise<string[]> => {
      const all: string[] = [];
      for (let seed = 1; seed <= 20; seed += 1) all.push(traceHash((await simulate({ seed })).events));
      return all;
    };
    const first = await hashes();
    expect(await hashes()).toEqual(first);
    expect(new Set(first).size).toBe(20);
  });
});

/** Says that running sequences are cancelled, and leaves them alone. */
const createLyingAdapter: NonNullable<SimulationOptions<unknown>["createStateAdapter"]> = (clock) =>
  wrapAdapter(createInProcessStateAdapter({ clock }), (method, original) => {
    if (method !== "cancelSequences") return original;
    return async (call) =>
      (call as { sequenceIds: string[] }).sequenceIds.map((sequenceId): CancelResult => ({
        sequenceId,
        kind: "cancelled",
        job: null,
        changed: true,
        wasRunning: false,
        cascaded: [],
      }));
  });

describe("a failing seed", () => {
  const findFailing = async (): Promise<number> => {
    for (let seed = 1; ; seed += 1) {
      const { violations } = await simulate({ seed, createStateAdapter: createLyingAdapter });
      if (violations.length > 0) return seed;
    }
  };

  it("is shrunk to fewer faults and operations that still fail, and printed as a timeline", async () => {
    const seed = await findFailing();
    const whole = await simulate({ seed, createStateAdapter: createLyingAdapter });
    const shrunk = await shrinkSimulation({ seed, createStateAdapter: createLyingAdapter });
    expect(shrunk.violations.length).toBeGreaterThan(0);
    expect(shrunk.plan.faults).toEqual({});
    expect(shrunk.plan.operations).toBeLessThan(whole.plan.operations);
    expect(shrunk.plan.processes).toBe(1);
    const timeline = formatTimeline(shrunk);
    expect(timeline).toContain("✗✗ 5 terminal states never change");
    expect(timeline).toMatch(/begins attempt 1 of/);
  });
});
