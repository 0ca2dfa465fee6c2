import { describe, expect, it } from "vitest";
import { sleep } from "../base/runtime.ts";
import { createManualClock } from "./manual-clock.ts";

const startAt = 1_000_000;

describe("advancing", () => {
  it("fires timers in due order, each at its own time", async () => {
    const clock = createManualClock({ startAt });
    const fired: [string, number, number][] = [];
    const note = (name: string) => (): void => void fired.push([name, clock.now(), clock.monotonic()]);
    clock.setTimer(note("late"), 300);
    clock.setTimer(note("early"), 100);
    clock.setTimer(note("early too"), 100);
    clock.setTimer(note("beyond"), 301);
    await clock.advanceBy(300);
    expect(fired).toEqual([
      ["early", startAt + 100, 100],
      ["early too", startAt + 100, 100],
      ["late", startAt + 300, 300],
    ]);
    expect(clock.pendingTimers).toBe(1);
    expect(clock.nextTimerAt()).toBe(startAt + 301);
  });

  it("lets promise chains and `soon` callbacks finish before the next timer", async () => {
    const clock = createManualClock();
    const events: string[] = [];
    clock.setTimer(() => {
      void (async () => {
        for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
        events.push("chain");
        clock.soon(() => {
          events.push("soon");
          clock.soon(() => events.push("soon again"));
        });
      })();
    }, 1);
    clock.setTimer(() => events.push("second timer"), 1);
    await clock.advanceBy(1);
    expect(events).toEqual(["chain", "soon", "soon again", "second timer"]);
  });

  it("fires timers that were set on the way, at the end of it too", async () => {
    const clock = createManualClock();
    const at: number[] = [];
    void (async () => {
      for (let round = 0; round < 3; round += 1) {
        await sleep(clock, 10);
        at.push(clock.monotonic());
      }
    })();
    await clock.advanceBy(30);
    expect(at).toEqual([10, 20, 30]);
  });

  it("runs what is due now when no time passes", async () => {
    const clock = createManualClock();
    let fired = 0;
    clock.setTimer(() => (fired += 1), 0);
    clock.setTimer(() => (fired += 1), -5);
    clock.setTimer(() => (fired += 1), Number.NaN);
    expect(fired).toBe(0);
    await clock.advanceBy(0);
    expect(fired).toBe(3);
  });

  it("does not fire what was cancelled", async () => {
    const clock = createManualClock();
    let fired = false;
    const cancel = clock.setTimer(() => (fired = true), 5);
    cancel();
    await clock.advanceBy(10);
    expect(fired).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  it("waits for far timers as long as they say", async () => {
    const clock = createManualClock();
    let fired = false;
    const sixtyDays = 60 * 24 * 3_600_000;
    clock.setTimer(() => (fired = true), sixtyDays);
    await clock.advanceBy(sixtyDays - 1);
    expect(fired).toBe(false);
    await clock.advanceBy(1);
    expect(fired).toBe(true);
  });

  it("goes to a moment, and never back", async () => {
    const clock = createManualClock({ startAt });
    await clock.advanceTo(startAt + 50);
    expect(clock.now()).toBe(startAt + 50);
    await clock.advanceTo(startAt);
    expect([clock.now(), clock.monotonic()]).toEqual([startAt + 50, 50]);
  });

  it("passes on what a timer throws, and can go on", async () => {
    const clock = createManualClock();
    let fired = false;
    clock.setTimer(() => {
      throw new Error("timer bug");
    }, 1);
    clock.setTimer(() => (fired = true), 2);
    await expect(clock.advanceBy(5)).rejects.toThrow("timer bug");
    await clock.advanceBy(5);
    expect(fired).toBe(true);
  });

  it("refuses to be advanced twice at once", async () => {
    const clock = createManualClock();
    const first = clock.advanceBy(10);
    await expect(clock.advanceBy(10)).rejects.toThrow("already");
    await first;
    expect(clock.monotonic()).toBe(10);
  });

  it("ends a timer loop that never lets time pass", async () => {
    const clock = createManualClock();
    const again = (): void => void clock.setTimer(again, 0);
    again();
    await expect(clock.advanceBy(1)).rejects.toThrow("keep setting more");
    again();
    await expect(clock.runUntil(() => false)).rejects.toThrow("keep setting more");
  });
});

describe("soon", () => {
  it("needs no advancing", async () => {
    const clock = createManualClock();
    await new Promise<void>((resolve) => clock.soon(resolve));
    expect(clock.monotonic()).toBe(0);
  });

  it("runs after promises that are already on their way", async () => {
    const clock = createManualClock();
    const events: string[] = [];
    clock.soon(() => events.push("soon"));
    void Promise.resolve().then(() => events.push("promise"));
    await clock.settle();
    expect(events).toEqual(["promise", "soon"]);
  });
});

describe("the wall clock", () => {
  it("steps without disturbing timers or measurements", async () => {
    const clock = createManualClock({ startAt });
    const at: number[] = [];
    clock.setTimer(() => at.push(clock.monotonic(), clock.now()), 100);
    clock.stepWallClock(-50_000);
    expect([clock.now(), clock.monotonic()]).toEqual([startAt - 50_000, 0]);
    expect(clock.nextTimerAt()).toBe(startAt - 50_000 + 100);
    await clock.advanceBy(100);
    expect(at).toEqual([100, startAt - 50_000 + 100]);
  });

  it("reads whole milliseconds, as the system's does", async () => {
    const clock = createManualClock({ startAt });
    await clock.advanceBy(0.7);
    expect([clock.now(), clock.monotonic()]).toEqual([startAt, 0.7]);
  });
});

describe("runUntil", () => {
  it("advances from timer to timer until a promise resolves, and no further", async () => {
    const clock = createManualClock();
    clock.setTimer(() => undefined, 10_000);
    const goal = (async () => {
      await sleep(clock, 1_000);
      await sleep(clock, 500);
      return "done";
    })();
    expect(await clock.runUntil(goal)).toBe("done");
    expect(clock.monotonic()).toBe(1_500);
    expect(clock.pendingTimers).toBe(1);
  });

  it("throws what the promise rejects with", async () => {
    const clock = createManualClock();
    const goal = sleep(clock, 5).then(() => Promise.reject(new Error("goal failed")));
    await expect(clock.runUntil(goal)).rejects.toThrow("goal failed");
  });

  it("takes predicates, also asynchronous ones", async () => {
    const clock = createManualClock();
    await clock.runUntil(() => true);
    expect(clock.monotonic()).toBe(0);
    const tick = (): void => void clock.setTimer(tick, 10);
    tick();
    await clock.runUntil(async () => clock.monotonic() >= 95);
    expect(clock.monotonic()).toBe(100);
  });

  it("says so when nothing is left to fire", async () => {
    const clock = createManualClock();
    await expect(clock.runUntil(new Promise(() => undefined))).rejects.toThrow("Nothing is left to fire");
    await expect(clock.runUntil(() => false)).rejects.toThrow("Nothing is left to fire");
  });

  it("says so when it takes too long", async () => {
    const clock = createManualClock();
    const tick = (): void => void clock.setTimer(tick, 10);
    tick();
    await expect(clock.runUntil(() => false, { maxMs: 100 })).rejects.toThrow("within 100 ms");
    expect(clock.monotonic()).toBe(100);
  });

  it("waits a few turns for what does not use this clock", async () => {
    const clock = createManualClock();
    const turns = async (): Promise<string> => {
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return "done";
    };
    expect(await clock.runUntil(turns())).toBe("done");
  });
});
