import type { RunningWorker } from "../api/worker.ts";

export interface StopOnSignalsOptions {
  /** How long running jobs may go on. Default: the worker's `stopDeadlineMs`. */
  readonly deadlineMs?: number | undefined;
  /** Runs after the workers have stopped: close pools and servers here. */
  readonly onStopped?: (() => Promise<void> | void) | undefined;
  /** Default: the process this runs in. */
  readonly process?: Pick<NodeJS.Process, "on" | "off" | "exit"> | undefined;
}

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;
type StopSignal = keyof typeof signalNumbers;

/**
 * Stops workers on SIGTERM and SIGINT and then ends the process: with 0 when every job ended by itself, with 1 when
 * some had to be aborted at the deadline or stopping failed. A second signal ends it at once with 128 + the signal's
 * number; the leases it held run out by themselves. Returns a function that takes the signal handlers away again.
 */
export const stopOnSignals = (
  workers: RunningWorker | readonly RunningWorker[],
  { deadlineMs, onStopped, process: host = process }: StopOnSignalsOptions = {},
): (() => void) => {
  const all = Array.isArray(workers) ? (workers as readonly RunningWorker[]) : [workers as RunningWorker];
  let stopping = false;

  const stopAll = async (): Promise<number> => {
    try {
      const results = await Promise.all(all.map((worker) => worker.stop({ deadlineMs })));
      await onStopped?.();
      return results.every(({ clean }) => clean) ? 0 : 1;
    } catch (error) {
      console.error(error);
      return 1;
    }
  };

  const onSignal = (signal: StopSignal): void => {
    if (stopping) {
      host.exit(128 + signalNumbers[signal]);
      return;
    }
    stopping = true;
    void stopAll().then((code) => host.exit(code));
  };

  host.on("SIGTERM", onSignal);
  host.on("SIGINT", onSignal);
  return () => {
    host.off("SIGTERM", onSignal);
    host.off("SIGINT", onSignal);
  };
};
