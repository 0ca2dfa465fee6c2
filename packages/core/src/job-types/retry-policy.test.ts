import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { InvalidOptionError } from "../base/errors.ts";
import { defaultRetryPolicy, parseRetryPolicy, retryDelayMs, type RetryPolicy } from "./retry-policy.ts";

const hundredYearsMs = 100 * 365.25 * 24 * 3_600_000;

const almostOne = (): number => 1 - Number.EPSILON;

const delay = (policy: RetryPolicy, attempt: number, random: () => number = almostOne): number =>
  retryDelayMs(policy, { attempt, error: new Error("boom") }, random);

describe("the default policy", () => {
  it("doubles its ceiling from one second up to thirty", () => {
    expect([1, 2, 3, 4, 5, 6, 7, 5_000].map((attempt) => delay(defaultRetryPolicy, attempt))).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
    ]);
  });

  it("spreads over the whole range below the ceiling", () => {
    expect(delay(defaultRetryPolicy, 3, () => 0)).toBe(0);
    expect(delay(defaultRetryPolicy, 3, () => 0.25)).toBe(1_000);
  });
});

describe("the other policies", () => {
  it("exponential without jitter is the ceiling itself and draws nothing", () => {
    const random = vi.fn<() => number>(() => 0);
    expect(delay({ type: "exponential", baseMs: 100, maxMs: 500, jitter: "none" }, 2, random)).toBe(400);
    expect(delay({ type: "exponential", baseMs: 100, maxMs: 500, jitter: "none" }, 3, random)).toBe(500);
    expect(random).not.toHaveBeenCalled();
  });

  it("fixed stays", () => {
    expect([1, 9].map((attempt) => delay({ type: "fixed", delayMs: 70 }, attempt))).toEqual([70, 70]);
  });

  it("linear grows by a step to its maximum", () => {
    expect([1, 2, 3].map((attempt) => delay({ type: "linear", stepMs: 10, maxMs: 25 }, attempt))).toEqual([
      10, 20, 25,
    ]);
    expect(delay({ type: "linear", stepMs: hundredYearsMs }, 5_000)).toBe(hundredYearsMs);
  });

  it("a base of zero is no delay at any attempt", () => {
    expect(delay({ type: "exponential", baseMs: 0, maxMs: 10 }, 5_000)).toBe(0);
  });

  it("is a whole number of milliseconds from 0 to a hundred years", () => {
    const bound = fc.double({ min: 0, max: hundredYearsMs, noNaN: true });
    const policy = fc.oneof(
      fc.record({ type: fc.constant("exponential" as const), baseMs: bound, maxMs: bound }),
      fc.record({ type: fc.constant("fixed" as const), delayMs: bound }),
      fc.record({ type: fc.constant("linear" as const), stepMs: bound }),
    );
    const random = fc.double({ min: 0, max: almostOne(), noNaN: true });
    fc.assert(
      fc.property(policy, fc.integer({ min: 1, max: 1_000_000 }), random, (chosen, attempt, drawn) => {
        const result = delay(chosen, attempt, () => drawn);
        expect(Number.isInteger(result) && result >= 0 && result <= hundredYearsMs).toBe(true);
      }),
    );
  });
});

describe("a function", () => {
  it("sees the attempt and the error", () => {
    const error = new Error("boom");
    const policy = vi.fn<() => number>(() => 1_234);
    expect(retryDelayMs(policy, { attempt: 3, error }, almostOne)).toBe(1_234);
    expect(policy).toHaveBeenCalledWith({ attempt: 3, error });
  });

  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("policy bug");
      },
    ],
    ["returns NaN", () => Number.NaN],
    ["returns a negative number", () => -1],
    ["returns Infinity", () => Infinity],
    ["returns longer than a hundred years", () => hundredYearsMs * 2],
    ["returns nothing", () => undefined],
    ["returns text", () => "5"],
    [
      "returns a promise that rejects",
      async () => {
        throw new Error("policy bug");
      },
    ],
  ])("that %s counts as the default policy", (_what, policy) => {
    expect(delay(policy as () => number, 2)).toBe(2_000);
  });
});

describe("parseRetryPolicy", () => {
  it("fills in defaults and keeps what is given", () => {
    expect(parseRetryPolicy(undefined, "retry")).toBe(defaultRetryPolicy);
    expect(parseRetryPolicy({ type: "exponential" }, "retry")).toEqual(defaultRetryPolicy);
    expect(parseRetryPolicy({ type: "fixed", delayMs: 5 }, "retry")).toEqual({ type: "fixed", delayMs: 5 });
    expect(parseRetryPolicy({ type: "linear", stepMs: 5 }, "retry")).toEqual({ type: "linear", stepMs: 5 });
    const custom = (): number => 1;
    expect(parseRetryPolicy(custom, "retry")).toBe(custom);
  });

  it.each([
    ["retry", null],
    ["retry", "exponential"],
    ["retry", []],
    ["retry.type", {}],
    ["retry.type", { type: "cubic" }],
    ["retry.baseMs", { type: "exponential", baseMs: -1 }],
    ["retry.baseMs", { type: "exponential", baseMs: "500" }],
    ["retry.maxMs", { type: "exponential", maxMs: Number.NaN }],
    ["retry.maxMs", { type: "exponential", baseMs: 100, maxMs: 99 }],
    ["retry.jitter", { type: "exponential", jitter: "some" }],
    ["retry.delayMs", { type: "fixed" }],
    ["retry.delayMs", { type: "fixed", delayMs: Infinity }],
    ["retry.stepMs", { type: "linear", stepMs: null }],
    ["retry.maxMs", { type: "linear", stepMs: 1, maxMs: hundredYearsMs + 1 }],
  ])("names %s when it refuses %j", (option, value) => {
    const parse = (): unknown => parseRetryPolicy(value, "retry");
    expect(parse).toThrow(InvalidOptionError);
    expect(parse).toThrow(expect.objectContaining({ option }));
  });
});
