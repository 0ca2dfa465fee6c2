import { describe, expect, it } from "vitest";
import { retryDelayMs, type RetryPolicy } from "./retry-policy.ts";
import { parseDefaults, patientRetries } from "./settings.ts";

const hourMs = 3_600_000;

/** From the first failure to the last attempt, with this draw for every jitter. */
const lastsMs = (retry: RetryPolicy, maxAttempts: number, draw: number): number => {
  let total = 0;
  for (let attempt = 1; attempt < maxAttempts; attempt += 1) {
    total += retryDelayMs(retry, { attempt, error: null }, () => draw);
  }
  return total;
};

describe("defaults of an instance", () => {
  it("are those that the documentation names", () => {
    const { maxAttempts, retry, timeoutMs } = parseDefaults();
    expect([maxAttempts, timeoutMs]).toEqual([4, undefined]);
    expect(retryDelayMs(retry, { attempt: 1, error: null }, () => 1)).toBe(1_000);
    expect(lastsMs(retry, maxAttempts, 1)).toBe(7_000);
    expect(lastsMs(retry, maxAttempts, 0.5)).toBe(3_500);
  });

  it("patient retries go on for a day or two", () => {
    const { maxAttempts, retry } = parseDefaults(patientRetries);
    expect(retryDelayMs(retry, { attempt: 1, error: null }, () => 1)).toBe(10_000);
    expect(lastsMs(retry, maxAttempts, 0.5)).toBeGreaterThan(24 * hourMs);
    expect(lastsMs(retry, maxAttempts, 1)).toBeLessThan(54 * hourMs);
  });

  it.each([
    ["defaults", null],
    ["defaults.maxAttempts", { maxAttempts: 0 }],
    ["defaults.retry.type", { retry: {} }],
    ["defaults.timeoutMs", { timeoutMs: 1.5 }],
    ["defaults.timeoutMS", { timeoutMS: 1 }],
  ])("%s is refused by its name", (option, defaults) => {
    expect(() => parseDefaults(defaults)).toThrow(`\`${option}\``);
  });
});
