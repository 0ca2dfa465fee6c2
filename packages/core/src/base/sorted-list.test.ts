import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../testing/seeded-random.ts";
import { SortedList } from "./sorted-list.ts";

const byNumber = (a: number, b: number): number => a - b;

describe("a sorted list", () => {
  it("does what a sorted array does", () => {
    const random = createSeededRandom("sorted list");
    const list = new SortedList(byNumber);
    const expected = new Set<number>();
    for (let step = 0; step < 20_000; step += 1) {
      const item = random.integer(0, 3_000);
      // First it grows, later it shrinks.
      const isDeleted = random.chance(step / 20_000);
      if (isDeleted) list.delete(item);
      else if (!expected.has(item)) list.add(item);
      if (isDeleted) expected.delete(item);
      else expected.add(item);
      if (step % 500 > 0) continue;
      const sorted = [...expected].sort(byNumber);
      expect([...list]).toEqual(sorted);
      expect(list.size).toBe(sorted.length);
      expect(list.first()).toBe(sorted[0]);
      expect(list.after(item)).toBe(sorted.find((other) => other > item));
      expect(list.find((other) => other >= item)).toBe(sorted.find((other) => other >= item));
      expect(list.findLast((other) => other < item)).toBe(sorted.findLast((other) => other < item));
    }
  });

  it("takes items in order, in reverse order, and gives back the first ones", () => {
    const list = new SortedList(byNumber);
    for (let item = 0; item < 2_000; item += 1) list.add(item);
    for (let item = -1; item > -2_000; item -= 1) list.add(item);
    for (let item = -1_999; item < 2_000; item += 1) {
      expect(list.first()).toBe(item);
      list.delete(item);
    }
    expect([list.size, list.first()]).toEqual([0, undefined]);
  });
});
