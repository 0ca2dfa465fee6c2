import { randomBytes, randomUUID } from "node:crypto";

export interface UuidV7Sources {
  now: () => number;
  randomBytes: (size: number) => Uint8Array;
}

const bytesPerId = 8;

const poolSize = bytesPerId * 128;

const largestCounter = 0xfff;

const hexDigits = Buffer.from("0123456789abcdef", "latin1");

/**
 * Makes UUIDs of version 7 that rise strictly within one process: the millisecond, then a 12-bit counter in place of
 * the first random bits. When the clock steps back or a millisecond's counter runs out, the timestamp continues from
 * the last one used.
 */
export const createUuidV7 = ({ now, randomBytes }: UuidV7Sources): (() => string) => {
  // Written digit by digit into one buffer: concatenation would leave every id a rope of a dozen strings.
  const text = Buffer.from("00000000-0000-7000-8000-000000000000", "latin1");
  let lastMs = -1;
  let counter = 0;
  let pool: Uint8Array = new Uint8Array(0);
  let offset = 0;

  const write = (value: number, position: number, digits: number): void => {
    let rest = value;
    for (let index = position + digits - 1; index >= position; index -= 1) {
      text[index] = hexDigits[rest & 0xf]!;
      rest >>>= 4;
    }
  };

  const advance = (ms: number, randomCounter: number): void => {
    if (ms > lastMs) {
      lastMs = ms;
      counter = randomCounter;
    } else if (++counter > largestCounter) {
      lastMs += 1;
      counter = 0;
    }
  };

  return () => {
    if (offset + bytesPerId > pool.length) {
      pool = randomBytes(poolSize);
      offset = 0;
    }
    const random = (index: number): number => pool[offset + index]!;
    // Half the counter's range: that leaves room for at least 2,048 more ids within the millisecond.
    advance(now(), ((random(0) << 3) | (random(1) >> 5)) & 0x7ff);
    write(Math.floor(lastMs / 2 ** 16), 0, 8);
    write(lastMs % 2 ** 16, 9, 4);
    write(counter, 15, 3);
    write(0x80 | (random(2) & 0x3f), 19, 2);
    write(random(3), 21, 2);
    for (let index = 0; index < 6; index += 1) write(random((4 + index) % bytesPerId), 24 + 2 * index, 2);
    offset += bytesPerId;
    return text.toString("latin1");
  };
};

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
  /** A number in [0, 1). A runtime for tests may derive it from `key`, so that it does not depend on other calls. */
  readonly random: (key?: string) => number;
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
    if (delayMs > longestTimeoutMs) return setLongTimer(callback, delayMs, background);
    const handle = setTimeout(callback, Math.max(0, delayMs));
    if (background) handle.unref();
    return () => clearTimeout(handle);
  },
  soon: (callback) => {
    setImmediate(callback);
  },
};

/** A timer in several steps, by the monotonic clock: each step may be late. */
const setLongTimer = (callback: () => void, delayMs: number, background: boolean): CancelTimer => {
  const end = performance.now() + delayMs;
  const armNext = (): void => {
    const remaining = end - performance.now();
    const next = remaining > longestTimeoutMs ? armNext : callback;
    cancel = systemClock.setTimer(next, Math.min(remaining, longestTimeoutMs), { background });
  };
  let cancel: CancelTimer = () => {};
  armNext();
  return () => cancel();
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

/**
 * Settles like `call`, or rejects when that takes too long. A late answer is dropped; the call itself is not
 * cancelled.
 */
export const withDeadline = <T>(
  call: Promise<T>,
  deadlineMs: number,
  createError: () => Error,
  clock: Clock = systemClock,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const cancel = clock.setTimer(() => reject(createError()), deadlineMs);
    call.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
