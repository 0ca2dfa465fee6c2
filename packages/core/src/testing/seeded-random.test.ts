import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSeededRandom } from "./seeded-random.ts";

const draw = (seed: number | string, size = 20): number[] => {
  const random = createSeededRandom(seed);
  return Array.from({ length: size }, random.next);
};

describe("seeded random", () => {
  it("repeats itself for a seed and differs between seeds", () => {
    expect(draw(42)).toEqual(draw(42));
    expect(draw("42/ids")).toEqual(draw("42/ids"));
    const first = new Set([0, 1, 2, 3, -1, 0.5, "0/ids", "1/ids"].map((seed) => draw(seed, 1)[0]));
    expect(first.size).toBe(8);
  });

  it("does not change between versions, or recorded seeds would be worthless", () => {
    const random = createSeededRandom(1);
    expect([random.integer(0, 999_999), random.integer(0, 999_999), random.integer(0, 999_999)])
      .toMatchInlineSnapshot(`
      [
        557827,
        50887,
        601592,
      ]
    `);
  });

  it("spreads evenly over [0, 1)", () => {
    const values = draw(7, 100_000);
    expect(values.every((value) => value >= 0 && value < 1)).toBe(true);
    for (let bucket = 0; bucket < 10; bucket += 1) {
      const inside = values.filter((value) => Math.floor(value * 10) === bucket);
      expect(Math.abs(inside.length - 10_000)).toBeLessThan(500);
    }
  });

  it("keeps whole numbers within both limits and reaches them", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: -1_000, max: 1_000 }), fc.nat(1_000), (seed, min, span) => {
        const value = createSeededRandom(seed).integer(min, min + span);
        expect(Number.isInteger(value) && value >= min && value <= min + span).toBe(true);
      }),
    );
    const random = createSeededRandom(3);
    expect(new Set(Array.from({ length: 100 }, () => random.integer(1, 3)))).toEqual(new Set([1, 2, 3]));
    expect(() => random.integer(2, 1)).toThrow("no whole number");
  });

  it("picks every item, and nothing from nothing", () => {
    const random = createSeededRandom(5);
    expect(new Set(Array.from({ length: 100 }, () => random.pick(["a", "b"])))).toEqual(new Set(["a", "b"]));
    expect(() => random.pick([])).toThrow("nothing to pick");
  });

  it("gives bytes of every value", () => {
    const bytes = createSeededRandom(9).bytes(10_000);
    expect(bytes).toHaveLength(10_000);
    expect(new Set(bytes).size).toBe(256);
  });

  it("takes its chances", () => {
    const random = createSeededRandom(11);
    const hits = Array.from({ length: 10_000 }, () => random.chance(0.2)).filter(Boolean).length;
    expect(Math.abs(hits - 2_000)).toBeLessThan(200);
    expect(random.chance(0)).toBe(false);
    expect(random.chance(1)).toBe(true);
  });
});
