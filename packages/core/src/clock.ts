import { randomBytes, randomUUID } from "node:crypto";
import { createUuidV7 } from "./model/uuid-v7.ts";

/** Cancels a timer. Calling it again, or after the timer fired, does nothing. */
export type CancelTimer = () => void;

/** Where core takes its time from. Production uses the system's; tests and simulations pass their own. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch. May step; never used to decide who owns a job. */
  now(): number;
  /** Milliseconds that never step back, for measuring how long something took or may still take. */
  monotonic(): number;
  /**
   * Runs `callback` once after `delayMs`, however far away that is. A timer in the background does not keep the process
   * running.
   */
  setTimer(callback: () => void, delayMs: number, options?: { readonly background?: boolean }): CancelTimer;
  /** Runs `callback` as soon as the work that is already queued has had its turn. */
  soon(callback: () => void): void;
}

/** Every source of nondeterminism in core, in one place. */
export interface Runtime {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** A new job id; time-ordered so that databases append instead of scattering index writes. */
  readonly createId: () => string;
  /** A new lease token: never used before and not guessable. */
  readonly createToken: () => string;
}

// setTimeout treats a longer delay as 1 ms.
const longestTimeoutMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (callback, delayMs, { background = false } = {}) => {
    const deadline = performance.now() + delayMs;
    let handle: NodeJS.Timeout;
    const arm = (): void => {
      const remaining = deadline - performance.now();
      handle =
        remaining > longestTimeoutMs
          ? setTimeout(arm, longestTimeoutMs)
          : setTimeout(callback, Math.max(0, remaining));
      if (background) handle.unref();
    };
    arm();
    return () => clearTimeout(handle);
  },
  soon: (callback) => {
    setImmediate(callback);
  },
};

export const createSystemRuntime = (): Runtime => ({
  clock: systemClock,
  random: Math.random,
  createId: createUuidV7({ now: systemClock.now, randomBytes }),
  createToken: randomUUID,
});

/** Resolves after `delayMs`, or at once when `signal` aborts; never rejects. */
export const sleep = (clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const finish = (): void => {
      cancel();
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = clock.setTimer(finish, delayMs);
    signal?.addEventListener("abort", finish, { once: true });
  });
