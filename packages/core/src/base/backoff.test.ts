import { describe, expect, it } from "vitest";
import { createManualClock } from "../testing/manual-clock.ts";
import { type Backoff, delayOf, repeat } from "./backoff.ts";

const delay: Backoff = { firstMs: 100, longestMs: 500, jitter: "none" };

describe("delayOf", () => {
  it("doubles up to the longest delay", () => {
    expect([1, 2, 3, 4, 5_000].map((attempt) => delayOf(delay, attempt, () => 0))).toEqual([
      100, 200, 400, 500, 500,
    ]);
  });

  it.each([
    ["full", 0, 100],
    ["half", 50, 100],
  ] as const)("with %s jitter lies between %d and %d ms", (jitter, least, most) => {
    expect(delayOf({ ...delay, jitter }, 1, () => 0)).toBe(least);
    expect(delayOf({ ...delay, jitter }, 1, () => 1)).toBe(most);
  });

  it("is a number even where the first delay is zero", () => {
    expect(delayOf({ ...delay, firstMs: 0 }, 5_000, () => 1)).toBe(0);
  });
});

describe("repeat", () => {
  const setUp = (isRepeatable: (error: unknown) => boolean = () => true) => {
    const delays: number[] = [];
    const clock = createManualClock();
    const runtime = { clock, random: () => 0 };
    const wait = async (ms: number): Promise<void> => {
      delays.push(ms);
      await clock.advanceBy(ms);
    };
    return { runtime, delays, options: { delay, isRepeatable, wait } };
  };
  const failing = async (run: number): Promise<never> => {
    throw new Error(`run ${run}`);
  };

  it("returns the first success", async () => {
    const { runtime, delays, options } = setUp();
    expect(await repeat(runtime, options, (run) => (run < 3 ? failing(run) : run))).toBe(3);
    expect(delays).toEqual([100, 200]);
  });

  it("ends with the last error when the runs are used up", async () => {
    const { runtime, options } = setUp();
    await expect(repeat(runtime, { ...options, maxRuns: 4 }, failing)).rejects.toThrow("run 4");
  });

  it("begins no run after its patience has ended", async () => {
    const { runtime, delays, options } = setUp();
    await expect(repeat(runtime, { ...options, patienceMs: 300 }, failing)).rejects.toThrow("run 3");
    expect(delays).toEqual([100, 200]);
  });

  it("ends at once with an error that is not repeatable", async () => {
    const { runtime, delays, options } = setUp((error) => (error as Error).message !== "run 2");
    await expect(repeat(runtime, options, failing)).rejects.toThrow("run 2");
    expect(delays).toEqual([100]);
  });

  it("sleeps on the clock unless told otherwise", async () => {
    const { runtime } = setUp();
    const repeated = repeat(runtime, { delay, isRepeatable: () => true }, (run) =>
      run === 1 ? failing(run) : "done",
    );
    await runtime.clock.advanceBy(100);
    expect(await repeated).toBe("done");
  });
});
