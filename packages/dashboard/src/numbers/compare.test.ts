import type { JobStatistics } from "leasehold";
import { describe, expect, it } from "vitest";
import { compareDeployments, judgeFailures, judgeRunTime, type Side } from "./compare.ts";

const side = (ended: number, failed: number, p50: number | null = 100, p95 = 4 * (p50 ?? 0)): Side => ({
  ended,
  failed,
  attempts: ended,
  runP50: p50,
  runP95: p50 === null ? null : p95,
});

describe("shares of failures", () => {
  it.each([
    [side(29, 0), side(1_000, 1_000), "too_few"],
    [side(1_000, 0), side(0, 0), "too_few"],
    [side(100, 0), side(100, 0), "same"],
    [side(100, 100), side(100, 100), "same"],
    [side(30, 0), side(30, 2), "same"],
    [side(1_000, 10), side(1_000, 15), "same"],
    [side(1_000, 10), side(1_000, 40), "more"],
    [side(10_000, 400), side(10_000, 100), "fewer"],
    [side(30, 0), side(30, 10), "more"],
  ] as const)("of %j and %j: %s", (one, other, verdict) => {
    expect(judgeFailures(one, other)).toBe(verdict);
  });
});

describe("run times", () => {
  it.each([
    [side(29, 0, 10), side(500, 0, 900), "too_few"],
    [side(500, 0), side(500, 0), "same"],
    // A step of the histogram and a half.
    [side(500, 0, 100), side(500, 0, 170), "same"],
    [side(500, 0, 100), side(500, 0, 200), "slower"],
    [side(500, 0, 100), side(500, 0, 50), "faster"],
    [side(500, 0, 100, 400), side(500, 0, 100, 900), "slower"],
    // So few attempts say nothing about the slowest of them.
    [side(99, 0, 100, 400), side(500, 0, 100, 900), "same"],
    [side(500, 0, null), side(500, 0, 100), "same"],
  ] as const)("of %j and %j: %s", (one, other, verdict) => {
    expect(judgeRunTime(one, other)).toBe(verdict);
  });
});

it("puts the types of two deployments side by side, whichever of them has run a type", () => {
  const row = (deployment: string | null, typeName: string, completed: number): JobStatistics =>
    ({
      queue: "default",
      typeName,
      deployment,
      completed,
      failed: 0,
      retried: 0,
      estimated: { timeToStartMs: null, runTimeMs: null },
    }) as unknown as JobStatistics;
  const rows = [row(null, "mail", 5), row("v2", "fax", 3), row("v2", "mail", 7), row("v1", "mail", 9)];
  expect(
    compareDeployments(rows, null, "v2").map(({ typeName, one, other }) => [
      typeName,
      one.ended,
      other.ended,
    ]),
  ).toEqual([
    ["mail", 5, 7],
    ["fax", 0, 3],
  ]);
});
