import { setTimeout as sleep } from "node:timers/promises";
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
  return async (attempt) => {
    const start = performance.now();
    for (let tries = 0; ; tries += 1) {
      try {
        return attempt();
      } catch (error) {
        if (!isBusy(error)) throw error;
        const waited = performance.now() - start;
        if (waited >= maxWaitMs) throw new SqliteBusyError(waited, { cause: error });
      }
      await sleep(Math.min(initialDelayMs * 2 ** tries, maxDelayMs) * (0.5 + Math.random()));
    }
  };
};
