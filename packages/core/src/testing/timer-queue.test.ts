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
        const cancels = timers.map(({ due }, index) => queue.add(due, () => taken.push(index)));
        timers.forEach(({ cancelled }, index) => {
          if (cancelled) cancels[index]!();
        });
        const expected = [...timers.keys()]
          .filter((index) => !timers[index]!.cancelled)
          .toSorted((left, right) => timers[left]!.due - timers[right]!.due || left - right);
        expect(queue.size()).toBe(expected.length);
        expect(queue.nextDue()).toBe(expected.length === 0 ? undefined : timers[expected[0]!]!.due);
        for (let next = queue.take(); next; next = queue.take()) next.callback();
        expect(taken).toEqual(expected);
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
