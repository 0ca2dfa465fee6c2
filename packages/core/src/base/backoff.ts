import { longestDurationMs, optionalInteger, requireNestedOptions } from "./options.ts";
import { type Runtime, sleep, systemClock } from "./runtime.ts";

/** Delays that double with each failure, up to a longest one. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
  /**
   * `full` takes anything from zero to the delay: for transactions that conflicted and must not collide again. `half` takes
   * at least half of it: for a fleet that must not retry in step.
   */
  readonly jitter: "full" | "half" | "none";
}

// The longest delay times this power of two is still a number; beyond it, 0 · Infinity would be NaN.
const mostDoublings = 900;

/** The delay after failure number `attempt`, which counts from one. */
export const delayOf = (
  { firstMs, longestMs, jitter }: Backoff,
  attempt: number,
  random: () => number,
): number => {
  const ceiling = Math.min(firstMs * 2 ** Math.min(attempt - 1, mostDoublings), longestMs);
  if (jitter === "none") return ceiling;
  return jitter === "full" ? random() * ceiling : ceiling * (0.5 + random() / 2);
};

/** The clock and the randomness that a back-off needs. */
export type BackoffRuntime = Pick<Runtime, "clock" | "random">;

/** The system's clock and random numbers. */
export const systemBackoff: BackoffRuntime = { clock: systemClock, random: Math.random };

/** How often, and how patiently, a failing call is repeated. */
export interface RepeatOptions {
  /** Runs in all, the first included. Default: no limit. */
  readonly maxRuns?: number;
  /** No run begins later than this after the first. Default: no limit. */
  readonly patienceMs?: number;
  readonly delay: Backoff;
  /** Called with the error of every run, the last included. */
  readonly isRepeatable: (error: unknown, run: number) => boolean;
  /** Waits before the next run. A rejection ends the repetition. Default: a timer. */
  readonly wait?: (delayMs: number, error: unknown, run: number) => Promise<void>;
}

/** Runs `run` until it succeeds, fails with an error that is not repeatable, or runs out of runs or time. */
export const repeat = async <T>(
  { clock, random }: BackoffRuntime,
  { maxRuns = Infinity, patienceMs, delay, isRepeatable, wait }: RepeatOptions,
  run: (run: number) => T | Promise<T>,
): Promise<T> => {
  const end = patienceMs === undefined ? Infinity : clock.monotonic() + patienceMs;
  for (let runs = 1; ; runs += 1) {
    try {
      return await run(runs);
    } catch (error) {
      const mayRepeat = isRepeatable(error, runs);
      if (!mayRepeat || runs >= maxRuns || (end !== Infinity && clock.monotonic() >= end)) throw error;
      const delayMs = delayOf(delay, runs, random);
      await (wait ? wait(delayMs, error, runs) : sleep(clock, delayMs));
    }
  }
};

// A transaction that took the whole patience would hardly succeed the next time.
const conflictRepetition = {
  maxRuns: 20,
  patienceMs: 10_000,
  delay: { firstMs: 8, longestMs: 250, jitter: "full" },
} as const;

/**
 * Runs a transaction and repeats it after a conflict rollback, which commits nothing. Full jitter: two conflicting transactions
 * must not collide again.
 */
export const repeatAfterConflict = <T>(
  runtime: BackoffRuntime,
  isConflictRollback: (error: unknown) => boolean,
  run: () => Promise<T>,
): Promise<T> => repeat(runtime, { ...conflictRepetition, isRepeatable: isConflictRollback }, run);

/** How a call is repeated after transient errors. */
export interface RetryConfig {
  /** Runs in all, the first included. */
  readonly maxAttempts?: number | undefined;
  /** The delay before the second run; it doubles with each further one. */
  readonly initialDelayMs?: number | undefined;
  /** The longest delay between two runs. */
  readonly maxDelayMs?: number | undefined;
}

/** A `RetryConfig` with every option set. */
export type CheckedRetryConfig = { readonly [TOption in keyof RetryConfig]-?: number };

/** Waits some seconds for a server that starts or fails over. */
const defaultRetry: CheckedRetryConfig = { maxAttempts: 5, initialDelayMs: 200, maxDelayMs: 5_000 };

/** Checks a `RetryConfig` that was passed as `option`. */
export const readRetryConfig = (
  passed: unknown = {},
  option = "connectionRetryConfig",
  defaults: CheckedRetryConfig = defaultRetry,
): CheckedRetryConfig => {
  const config = requireNestedOptions<keyof RetryConfig>(passed, option, {
    maxAttempts: true,
    initialDelayMs: true,
    maxDelayMs: true,
  });
  const read = (name: keyof RetryConfig, min: number): number =>
    optionalInteger(config[name], `${option}.${name}`, defaults[name], { min, max: longestDurationMs });
  return {
    maxAttempts: read("maxAttempts", 1),
    initialDelayMs: read("initialDelayMs", 0),
    maxDelayMs: read("maxDelayMs", 0),
  };
};

/** How a loop that never gives up waits after failures. */
export type LoopRetryConfig = Pick<RetryConfig, "initialDelayMs" | "maxDelayMs">;

/** Checks a `LoopRetryConfig` that was passed as `option`. */
export const readLoopRetryConfig = (
  passed: unknown = {},
  option: string,
  defaults: Omit<Backoff, "jitter">,
): Omit<Backoff, "jitter"> => {
  const config = requireNestedOptions<keyof LoopRetryConfig>(passed, option, {
    initialDelayMs: true,
    maxDelayMs: true,
  });
  const read = (name: keyof LoopRetryConfig, fallback: number): number =>
    optionalInteger(config[name], `${option}.${name}`, fallback, { min: 1, max: longestDurationMs });
  const firstMs = read("initialDelayMs", defaults.firstMs);
  return { firstMs, longestMs: read("maxDelayMs", Math.max(firstMs, defaults.longestMs)) };
};

/** Runs `run`, and again after errors that `isTransientError` accepts. It must be safe to run twice. */
export const withRetry = async <T>(
  run: () => T | Promise<T>,
  config: RetryConfig | undefined,
  isTransientError: (error: unknown) => boolean,
): Promise<T> => {
  const { maxAttempts, initialDelayMs, maxDelayMs } = readRetryConfig(config);
  const delay: Backoff = { firstMs: initialDelayMs, longestMs: maxDelayMs, jitter: "half" };
  return repeat(systemBackoff, { maxRuns: maxAttempts, delay, isRepeatable: isTransientError }, run);
};
