import type { Clock } from "../base/runtime.ts";
import { requireOptions } from "../base/options.ts";
import { createTimerQueue } from "./timer-queue.ts";

// Taken now, before a test replaces the global with a fake.
const realSetImmediate = setImmediate;

const defaultStart = Date.UTC(2030, 0, 1);
const defaultMaxMs = 3_600_000;
// Enough for any honest chain; a loop that never lets time pass ends here instead of hanging the test.
const mostStepsAtOnce = 100_000;
const roundsBeforeGivingUp = 10;

/** Options of `createManualClock`. */
export interface ManualClockOptions {
  /** What `now()` answers at first; the start of 2030 unless given. */
  readonly startAt?: number;
  /** Awaited whenever time would pass: for input and output that this clock knows nothing of. */
  readonly beforeTimePasses?: () => Promise<void>;
}

/** How long the clock may run. */
export interface RunUntilOptions {
  /** How much time may pass on this clock; an hour unless given. */
  readonly maxMs?: number;
}

/**
 * Time that passes only when a test says so. Timers fire one by one in the order they are due; after each, everything
 * that follows from it without further waiting (promise chains, `soon` callbacks) has run before the next one fires.
 */
export interface ManualClock extends Clock {
  readonly pendingTimers: number;
  /** When the next timer is due, as `now()` will read then; undefined when none is set. */
  nextTimerAt(): number | undefined;
  advanceBy(ms: number): Promise<void>;
  /** Advances until `now()` reads `time`. A time in the past lets nothing pass, but what is due is run. */
  advanceTo(time: number): Promise<void>;
  /**
   * Advances from timer to timer until the promise settles, and returns or throws what it settles with, or until the
   * predicate answers true. Fails when no timer is left or the next is more than `maxMs` away from the beginning. The
   * predicate itself must not wait for this clock.
   */
  runUntil<T>(goal: Promise<T>, options?: RunUntilOptions): Promise<T>;
  runUntil(goal: () => boolean | Promise<boolean>, options?: RunUntilOptions): Promise<void>;
  /** Lets everything run that needs no time to pass. */
  settle(): Promise<void>;
  /** Moves `now()`, as an operator or NTP would. Neither `monotonic()` nor any timer notices. */
  stepWallClock(ms: number): void;
}

interface Goal<T> {
  /** A function that gives the result, once there is one. */
  readonly reached: () => Promise<(() => T) | undefined>;
}

const goalOfPromise = <T>(promise: Promise<T>): Goal<T> => {
  let result: (() => T) | undefined;
  const observe = async (): Promise<void> => {
    try {
      const value = await promise;
      result = () => value;
    } catch (error) {
      result = () => {
        throw error;
      };
    }
  };
  void observe();
  return { reached: async () => result };
};

const goalOfPredicate = (predicate: () => boolean | Promise<boolean>): Goal<void> => ({
  reached: async () => ((await predicate()) ? () => undefined : undefined),
});

const nextTurn = (): Promise<void> => new Promise((resolve) => realSetImmediate(resolve));

/** A clock that stands still until a test moves it. */
export const createManualClock = (options: ManualClockOptions = {}): ManualClock => {
  const { startAt = defaultStart, beforeTimePasses } = requireOptions<keyof ManualClockOptions>(
    options,
    "createManualClock",
    { startAt: true, beforeTimePasses: true },
  ) as ManualClockOptions;
  const timers = createTimerQueue();
  let elapsed = 0;
  let wallOffset = startAt;
  let pendingSoon = 0;
  let advancing = false;
  let stepsAtOnce = 0;

  const settle = async (): Promise<void> => {
    for (let rounds = 0; rounds < mostStepsAtOnce; rounds += 1) {
      await nextTurn();
      if (beforeTimePasses && pendingSoon === 0) {
        await beforeTimePasses();
        await nextTurn();
      }
      if (pendingSoon === 0) return;
    }
    throw new Error("Callbacks passed to `soon` keep asking for more of them.");
  };

  const fireNext = (): void => {
    const timer = timers.take();
    if (timer === undefined) return;
    stepsAtOnce = timer.due > elapsed ? 0 : stepsAtOnce + 1;
    if (stepsAtOnce > mostStepsAtOnce) throw new Error("Timers without delay keep setting more of them.");
    elapsed = Math.max(elapsed, timer.due);
    timer.callback();
  };

  const exclusively = async <T>(advance: () => Promise<T>): Promise<T> => {
    if (advancing) throw new Error("The manual clock is already being advanced by another call.");
    advancing = true;
    try {
      return await advance();
    } finally {
      advancing = false;
    }
  };

  const advanceUntil = async (target: number): Promise<void> => {
    for (;;) {
      await settle();
      const due = timers.nextDue();
      if (due !== undefined && due <= target) {
        fireNext();
      } else if (elapsed < target) {
        elapsed = target;
      } else {
        return;
      }
    }
  };

  /** What the test waits for may need a few turns of the event loop that this clock does not know of. */
  const reachedAfterTurns = async <T>(goal: Goal<T>): Promise<(() => T) | undefined> => {
    for (let round = 0; round < roundsBeforeGivingUp; round += 1) {
      await settle();
      const result = await goal.reached();
      if (result || timers.size() > 0) return result;
    }
    return undefined;
  };

  const run = async <T>(goal: Goal<T>, maxMs: number): Promise<T> => {
    const limit = elapsed + maxMs;
    for (;;) {
      await settle();
      const result =
        (await goal.reached()) ?? (timers.size() === 0 ? await reachedAfterTurns(goal) : undefined);
      if (result) return result();
      const due = timers.nextDue();
      if (due === undefined)
        throw new Error("Nothing is left to fire, and what the test waits for has not happened.");
      if (due > limit)
        throw new Error(`What the test waits for has not happened within ${maxMs} ms of the manual clock.`);
      fireNext();
    }
  };

  return {
    now: () => Math.floor(wallOffset + elapsed),
    monotonic: () => elapsed,
    setTimer: (callback, delayMs) => timers.add(elapsed + (delayMs > 0 ? delayMs : 0), callback),
    soon: (callback) => {
      pendingSoon += 1;
      realSetImmediate(() => {
        pendingSoon -= 1;
        callback();
      });
    },
    get pendingTimers() {
      return timers.size();
    },
    nextTimerAt: () => {
      const due = timers.nextDue();
      return due === undefined ? undefined : wallOffset + due;
    },
    advanceBy: (ms) => exclusively(() => advanceUntil(elapsed + ms)),
    advanceTo: (time) => exclusively(() => advanceUntil(time - wallOffset)),
    runUntil: async <T>(
      goal: Promise<T> | (() => boolean | Promise<boolean>),
      options: RunUntilOptions = {},
    ) => {
      const { maxMs = defaultMaxMs } = requireOptions<keyof RunUntilOptions>(options, "runUntil", {
        maxMs: true,
      }) as RunUntilOptions;
      return exclusively<T | void>(() =>
        typeof goal === "function" ? run(goalOfPredicate(goal), maxMs) : run(goalOfPromise(goal), maxMs),
      );
    },
    settle,
    stepWallClock: (ms) => {
      wallOffset += ms;
    },
  };
};
