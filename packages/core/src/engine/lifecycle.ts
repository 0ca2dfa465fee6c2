import { setMaxListeners } from "node:events";
import type { RunningWorker, StopOptions } from "../api/worker.ts";
import { LeaseholdClosedError } from "../errors.ts";
import { longestDurationMs } from "../model/limits.ts";
import { requireInteger, requireOptions } from "../model/option-checks.ts";
import type { Notifier } from "./notifier.ts";
import type { Reporter } from "./reporter/reporter.ts";

/**
 *   open ──close──▶ closing ──workers have stopped──▶ closed
 *
 * While closing, handlers that still run may make calls, but no worker can be started. Once closed, calls are refused.
 */
export interface Lifecycle {
  /** Aborts once closed: for calls that wait. */
  readonly closed: AbortSignal;
  requireOpen(operation: string): void;
  /** Keeps track of the worker, so that `close` can stop it. */
  startWorker(start: () => Promise<RunningWorker>): Promise<RunningWorker>;
  close(options?: unknown): Promise<void>;
}

export const createLifecycle = (notifier: Notifier, reporter: Reporter): Lifecycle => {
  const workers = new Set<Promise<RunningWorker>>();
  const closed = new AbortController();
  // Everyone who waits for a sequence listens to it. Node warns of a leak from the eleventh on.
  setMaxListeners(0, closed.signal);
  let closing: Promise<void> | undefined;

  const closeNow = async (options: StopOptions): Promise<void> => {
    const started = await Promise.allSettled(workers);
    const running = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    await Promise.all(running.map((worker) => worker.stop(options)));
    closed.abort();
    await Promise.all([notifier.settled(), reporter.close()]);
  };

  return {
    closed: closed.signal,
    requireOpen: (operation) => {
      if (closed.signal.aborted) throw new LeaseholdClosedError(operation);
    },
    startWorker: async (start) => {
      if (closing) throw new LeaseholdClosedError("start");
      const starting = start();
      workers.add(starting);
      try {
        const worker = await starting;
        return {
          ...worker,
          stop: async (options) => {
            const result = await worker.stop(options);
            workers.delete(starting);
            return result;
          },
        };
      } catch (error) {
        workers.delete(starting);
        throw error;
      }
    },
    close: async (passed = {}) => {
      const { deadlineMs } = requireOptions<keyof StopOptions>(passed, "close", { deadlineMs: true });
      if (deadlineMs !== undefined)
        requireInteger(deadlineMs, "deadlineMs", { min: 0, max: longestDurationMs });
      closing ??= closeNow({ deadlineMs: deadlineMs as number | undefined });
      return closing;
    },
  };
};
