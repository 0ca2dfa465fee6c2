import { describe, expect, it } from "vitest";
import { createDeterministicRuntime } from "./deterministic-runtime.ts";
import { createManualClock } from "./manual-clock.ts";

const sample = (seed: number | string): unknown => {
  const { createId, createToken, random } = createDeterministicRuntime({ seed });
  return [createId(), createId(), createToken(), createToken(), random(), random()];
};

describe("deterministic runtime", () => {
  it("is determined by its seed", () => {
    expect(sample(1)).toEqual(sample(1));
    expect(new Set([...(sample(1) as unknown[]), ...(sample(2) as unknown[])]).size).toBe(12);
  });

  it("makes ids that are UUIDs of version 7 by its clock, and rise", async () => {
    const clock = createManualClock({ startAt: 0x0123456789ab });
    const { createId } = createDeterministicRuntime({ seed: 1, clock });
    const ids = [createId(), createId()];
    await clock.advanceBy(1.5);
    ids.push(createId());
    for (const id of ids) expect(id).toMatch(/^01234567-89a[bc]-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(3);
  });

  it("makes tokens that are UUIDs of version 4, none twice", () => {
    const { createToken } = createDeterministicRuntime({ seed: 1 });
    const tokens = Array.from({ length: 1_000 }, createToken);
    for (const token of tokens)
      expect(token).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(new Set(tokens).size).toBe(1_000);
  });

  it("keeps its streams apart", () => {
    const first = createDeterministicRuntime({ seed: 1 });
    const second = createDeterministicRuntime({ seed: 1 });
    first.random();
    first.createToken();
    expect(first.createId()).toBe(second.createId());
  });

  it("shares a clock when told to", () => {
    const clock = createManualClock();
    expect(createDeterministicRuntime({ seed: 1, clock }).clock).toBe(clock);
  });
});
