import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTimerQueue } from "./timer-queue.ts";

const ignore = (): void => undefined;

describe("timer queue", () => {
  it("gives what was not cancelled by due time, then by order of setting", () => {
    const timer = fc.record({ due: fc.integer({ min: 0, max: 5 }), cancelled: fc.boolean() });
    fc.assert(
      fc.property(fc.array(timer), (timers) => {
        const queue = createTimerQueue();
        const taken: number[] = [];
        const set = timers.map(({ due, cancelled }, order) => {
          const cancel = queue.add(due, () => taken.push(order));
          return { due, order, cancelled, cancel };
        });
        for (const { cancelled, cancel } of set) if (cancelled) cancel();
        const expected = set
          .filter(({ cancelled }) => !cancelled)
          .toSorted((left, right) => left.due - right.due || left.order - right.order);
        expect(queue.size()).toBe(expected.length);
        expect(queue.nextDue()).toBe(expected[0]?.due);
        for (let next = queue.take(); next; next = queue.take()) next.callback();
        expect(taken).toEqual(expected.map(({ order }) => order));
      }),
    );
  });

  it("cancels a timer once, and not after it was taken", () => {
    const queue = createTimerQueue();
    const cancel = queue.add(1, ignore);
    queue.add(1, ignore);
    cancel();
    cancel();
    expect(queue.size()).toBe(1);
    const cancelTaken = queue.add(0, ignore);
    expect(queue.take()?.due).toBe(0);
    cancelTaken();
    expect(queue.size()).toBe(1);
  });
});
