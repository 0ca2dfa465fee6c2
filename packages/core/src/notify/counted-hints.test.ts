import { describe, expect, it, vi } from "vitest";
import { NotifyTimeoutError } from "../store/errors.ts";
import type { HintCounting } from "./contract.ts";
import { createSubscribers } from "./in-process.ts";
import type { CountedMessage } from "./messages.ts";
import { createCountedHints } from "./transport-adapter.ts";

const hint = (count = 1): CountedMessage => ({ name: "type", count, counter: { hintId: "hint" } });

const setUp = (take: HintCounting["take"] | undefined) => {
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const listeners = createSubscribers(onError);
  return { errors, listeners, hints: createCountedHints({ subscribers: listeners, take, onError }) };
};

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe("counted notifications", () => {
  it("an idle worker takes one of two notifications that come together", async () => {
    const take = vi.fn(async () => 1);
    const { hints, listeners } = setUp(take);
    let idle = true;
    const heard = vi.fn(() => {
      idle = false;
    });
    listeners.add("jobScheduled", ["type"], heard, () => idle);
    hints.arrived("jobScheduled", hint());
    hints.arrived("jobScheduled", hint());
    await settle();
    expect(take).toHaveBeenCalledTimes(1);
    expect(heard).toHaveBeenCalledTimes(1);
  });

  it("asks for no more than it can use, and for nothing when nobody wants it", async () => {
    const wants: number[] = [];
    const { hints, listeners } = setUp(async (_counter, _count, wanted) => {
      wants.push(wanted);
      return wanted;
    });
    hints.arrived("jobScheduled", hint(5));
    await settle();
    expect(wants).toEqual([]);
    for (let times = 0; times < 3; times += 1) listeners.add("jobScheduled", ["type"], () => undefined);
    hints.arrived("jobScheduled", hint(5));
    hints.arrived("jobScheduled", hint(2));
    await settle();
    expect(wants).toEqual([3, 2]);
  });

  it("calls as many as it got", async () => {
    const { hints, listeners } = setUp(async () => 2);
    const heard = vi.fn();
    for (let times = 0; times < 4; times += 1) listeners.add("jobScheduled", ["type"], heard);
    hints.arrived("jobScheduled", hint(4));
    await settle();
    expect(heard).toHaveBeenCalledTimes(2);
  });

  it.each([
    ["a message without a counter", async () => 0, { name: "type", count: 3 }],
    ["a counter that cannot be asked", undefined, hint(3)],
  ])("%s wakes as many here as it says", async (_label, take, arriving) => {
    const { hints, listeners } = setUp(take);
    const heard = vi.fn();
    for (let times = 0; times < 4; times += 1) listeners.add("jobScheduled", ["type"], heard);
    hints.arrived("jobScheduled", arriving);
    await settle();
    expect(heard).toHaveBeenCalledTimes(3);
  });

  it("when counting fails, everyone looks once and the failure is reported", async () => {
    const failure = new Error("no connection");
    const take = vi.fn(async () => {
      throw failure;
    });
    const { hints, listeners, errors } = setUp(take);
    const heard = vi.fn();
    for (let times = 0; times < 4; times += 1) listeners.add("jobScheduled", ["type"], heard);
    for (let times = 0; times < 10; times += 1) hints.arrived("jobScheduled", hint());
    await settle();
    expect(heard).toHaveBeenCalledTimes(4);
    expect(take).toHaveBeenCalledTimes(1);
    expect(errors).toEqual([failure]);
  });

  it("does not wait for ever for an answer", async () => {
    vi.useFakeTimers();
    try {
      const { hints, listeners, errors } = setUp(() => new Promise(() => undefined));
      const heard = vi.fn();
      listeners.add("jobScheduled", ["type"], heard);
      hints.arrived("jobScheduled", hint());
      await vi.advanceTimersByTimeAsync(5_000);
      expect(heard).toHaveBeenCalledTimes(1);
      expect(errors).toEqual([expect.any(NotifyTimeoutError)]);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("keeps a bounded line", async () => {
    let answer: (granted: number) => void = () => undefined;
    const take = vi.fn(
      () =>
        new Promise<number>((resolve) => {
          answer = resolve;
        }),
    );
    const { hints, listeners } = setUp(take);
    listeners.add("jobScheduled", ["type"], () => undefined);
    for (let times = 0; times < 100_000; times += 1) hints.arrived("jobScheduled", hint());
    while (take.mock.results.length < 1_001) {
      answer(0);
      await settle();
    }
    answer(0);
    await settle();
    expect(take).toHaveBeenCalledTimes(1_001);
  });

  it("drops what waits when it is cleared", async () => {
    const take = vi.fn(async () => 0);
    const { hints, listeners } = setUp(take);
    listeners.add("jobScheduled", ["type"], () => undefined);
    hints.arrived("jobScheduled", hint());
    hints.arrived("jobScheduled", hint());
    hints.clear();
    await settle();
    expect(take).toHaveBeenCalledTimes(1);
  });
});
