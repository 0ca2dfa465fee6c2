import { describe, expect, it, vi } from "vitest";
import { BrokerTimeoutError } from "../errors.ts";
import { createHintListeners } from "./listeners.ts";
import type { ScheduledHint } from "./messages.ts";
import { createScheduledHints } from "./counted-hints.ts";

const hint = (count = 1, hintId = "hint"): ScheduledHint => ({ typeName: "type", count, hintId });

const setUp = (take: ((hint: ScheduledHint, wanted: number) => Promise<number>) | undefined) => {
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const listeners = createHintListeners(onError);
  return { errors, listeners, hints: createScheduledHints({ listeners, take, onError }) };
};

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe("scheduled hints", () => {
  it("an idle worker takes one of two hints that come together", async () => {
    const take = vi.fn(async () => 1);
    const { hints, listeners } = setUp(take);
    let idle = true;
    const heard = vi.fn(() => {
      idle = false;
    });
    listeners.addScheduled(["type"], heard, () => idle);
    hints.arrived(hint());
    hints.arrived(hint());
    await settle();
    expect(take).toHaveBeenCalledTimes(1);
    expect(heard).toHaveBeenCalledTimes(1);
  });

  it("asks for no more than it can use, and for nothing when nobody wants it", async () => {
    const wants: number[] = [];
    const { hints, listeners } = setUp(async (_hint, wanted) => {
      wants.push(wanted);
      return wanted;
    });
    hints.arrived(hint(5));
    await settle();
    expect(wants).toEqual([]);
    for (let times = 0; times < 3; times += 1) listeners.addScheduled(["type"], () => undefined);
    hints.arrived(hint(5));
    hints.arrived(hint(2));
    await settle();
    expect(wants).toEqual([3, 2]);
  });

  it("calls as many as it got", async () => {
    const { hints, listeners } = setUp(async () => 2);
    const heard = vi.fn();
    for (let times = 0; times < 4; times += 1) listeners.addScheduled(["type"], heard);
    hints.arrived(hint(4));
    await settle();
    expect(heard).toHaveBeenCalledTimes(2);
  });

  it.each([
    ["a hint without a counter", async () => 0, { typeName: "type", count: 1 }],
    ["a counter that cannot be asked", undefined, hint()],
  ])("%s wakes everyone", async (_label, take, arriving) => {
    const { hints, listeners } = setUp(take);
    const heard = vi.fn();
    for (let times = 0; times < 4; times += 1) listeners.addScheduled(["type"], heard);
    hints.arrived(arriving);
    await settle();
    expect(heard).toHaveBeenCalledTimes(4);
  });

  it("when counting fails, everyone looks once and the failure is reported", async () => {
    const failure = new Error("no connection");
    const take = vi.fn(async () => {
      throw failure;
    });
    const { hints, listeners, errors } = setUp(take);
    const heard = vi.fn();
    for (let times = 0; times < 4; times += 1) listeners.addScheduled(["type"], heard);
    for (let times = 0; times < 10; times += 1) hints.arrived(hint());
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
      listeners.addScheduled(["type"], heard);
      hints.arrived(hint());
      await vi.advanceTimersByTimeAsync(5_000);
      expect(heard).toHaveBeenCalledTimes(1);
      expect(errors).toEqual([expect.any(BrokerTimeoutError)]);
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
    listeners.addScheduled(["type"], () => undefined);
    for (let times = 0; times < 100_000; times += 1) hints.arrived(hint());
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
    listeners.addScheduled(["type"], () => undefined);
    hints.arrived(hint());
    hints.arrived(hint());
    hints.clear();
    await settle();
    expect(take).toHaveBeenCalledTimes(1);
  });
});
