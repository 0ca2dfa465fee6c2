import { repeat, type RepeatOptions, systemBackoff } from "leasehold/adapter";
import { isBusy, SqliteBusyError } from "./errors.ts";

/** How to wait for a lock that another process holds. Timers do the waiting, so this process is not blocked. */
export interface ConnectionRetryConfig {
  /** Default: 1. Doubles with every try. */
  readonly initialDelayMs: number;
  /** Default: 20. */
  readonly maxDelayMs: number;
  /** Default: 8 000. After that the call rejects with `SqliteBusyError`, which is a transient error. */
  readonly maxWaitMs: number;
}

export type BusyRetry = <T>(attempt: () => T) => Promise<T>;

/** Retries with jitter for as long as another connection holds the lock. */
export const createBusyRetry = ({
  initialDelayMs,
  maxDelayMs,
  maxWaitMs,
}: ConnectionRetryConfig): BusyRetry => {
  const options: RepeatOptions = {
    patienceMs: maxWaitMs,
    delay: { firstMs: initialDelayMs, longestMs: maxDelayMs, jitter: "half" },
    isRepeatable: (error) => isBusy(error),
  };
  const waitForLock = async <T>(attempt: () => T): Promise<T> => {
    const start = performance.now();
    try {
      return await repeat(systemBackoff, options, attempt);
    } catch (error) {
      if (!isBusy(error)) throw error;
      throw new SqliteBusyError(performance.now() - start, { cause: error });
    }
  };
  return async (attempt) => {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      return waitForLock(attempt);
    }
  };
};
