import fc from "fast-check";
import { expect, it } from "vitest";
import { createHeap } from "./heap.ts";

const ascending = (a: number, b: number): number => a - b;
const drain = (heap: ReturnType<typeof createHeap<number>>): (number | undefined)[] =>
  Array.from({ length: heap.size() }, () => heap.pop());

it("gives items back in order, whatever the order they came in", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (numbers) => {
      const heap = createHeap<number>((a, b) => a < b);
      for (const number of numbers) heap.push(number);
      expect(heap.peek()).toBe(numbers.length === 0 ? undefined : Math.min(...numbers));
      expect(drain(heap)).toEqual([...numbers].sort(ascending));
      expect(heap.pop()).toBeUndefined();
    }),
  );
});

it("stays in order when most of it is dropped", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.array(fc.integer()), (numbers, more) => {
      const heap = createHeap<number>((a, b) => a < b);
      const keep = (number: number): boolean => number % 3 === 0;
      for (const number of numbers) heap.push(number);
      heap.retain(keep);
      for (const number of more) heap.push(number);
      expect(drain(heap)).toEqual([...numbers.filter(keep), ...more].sort(ascending));
    }),
  );
});
