import { describe, expect, it } from "vitest";
import { type Fault, onNthCall, onRandomCalls } from "./fault-plans.ts";
import { createSeededRandom } from "./seeded-random.ts";

const failure: Fault = { kind: "fail_before" };
const hang: Fault = { kind: "hang" };

describe("fault plans", () => {
  it("hits the nth call of a method", () => {
    const plan = onNthCall("claimJobs", 2, failure);
    expect(plan({ method: "claimJobs", nth: 1, total: 1 })).toBeUndefined();
    expect(plan({ method: "getJobs", nth: 2, total: 2 })).toBeUndefined();
    expect(plan({ method: "claimJobs", nth: 2, total: 3 })).toBe(failure);
    expect(plan({ method: "claimJobs", nth: 3, total: 4 })).toBeUndefined();
  });

  const run = (seed: number, methods?: string[]): (Fault | undefined)[] => {
    const options = { random: createSeededRandom(seed), rate: 0.3, faults: [failure, hang] };
    const plan = onRandomCalls(methods ? { ...options, methods } : options);
    return Array.from({ length: 1_000 }, (_, index) =>
      plan({ method: "getJobs", nth: index + 1, total: index + 1 }),
    );
  };

  it("hits calls at the rate, with every fault, the same for the same seed", () => {
    const faults = run(1);
    expect(faults).toEqual(run(1));
    expect(faults).not.toEqual(run(2));
    expect(new Set(faults)).toEqual(new Set([undefined, failure, hang]));
    const hits = faults.filter(Boolean).length;
    expect(Math.abs(hits - 300)).toBeLessThan(60);
  });

  it("keeps to the methods named, and leaves close alone unless named", () => {
    expect(run(1, ["claimJobs"]).some(Boolean)).toBe(false);
    const close = { method: "close", nth: 1, total: 1 };
    const options = { random: createSeededRandom(1), rate: 1, faults: [failure] };
    expect(onRandomCalls(options)(close)).toBeUndefined();
    expect(onRandomCalls({ ...options, methods: ["close"] })(close)).toBe(failure);
  });
});
