import { setMaxListeners } from "node:events";
import { LeaseholdClosedError } from "../base/errors.ts";
import { longestDurationMs, requireInteger, requireOptions } from "../base/options.ts";
import type { Lifecycle, Reporter, StoppableWorker } from "../engine/engine.ts";
import type { Notifier } from "../notify/notifier.ts";
import type { StopOptions } from "./api.ts";

export const createLifecycle = (notifier: Notifier, reporter: Reporter): Lifecycle => {
  const workers = new Set<Promise<StoppableWorker>>();
  const closed = new AbortController();
  // Every wait for a sequence adds a listener. Node warns of a leak from the eleventh on.
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
    startWorker: async (start) => {
      if (closing) throw new LeaseholdClosedError("start");
      const starting = start();
      workers.add(starting);
      try {
        const worker = await starting;
        return {
          ...worker,
          stop: async (options?: object) => {
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
