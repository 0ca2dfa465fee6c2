import { InvalidOptionError } from "../base/errors.ts";
import {
  longestDurationMs,
  requireArray,
  requireFunction,
  requireInteger,
  requireOptions,
} from "../base/options.ts";
import { systemClock } from "../base/runtime.ts";
import type { RunningWorker, StopResult } from "./api.ts";

/** Options of `stopOnSignals`. */
export interface StopOnSignalsOptions {
  /** How long to wait for running jobs, from the signal. Default: each worker's `stopDeadlineMs`. */
  readonly deadlineMs?: number | undefined;
  /**
   * Runs after the workers have stopped, with their results added up: close pools and servers here. It has ten seconds;
   * a pool that waits for a database that does not answer must not keep the process.
   */
  readonly onStopped?: ((result: StopResult) => Promise<void> | void) | undefined;
  /** Default: the process this runs in. */
  readonly process?: Pick<NodeJS.Process, "on" | "off" | "exit"> | undefined;
}

const onStoppedMs = 10_000;

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;

type StopSignal = keyof typeof signalNumbers;

/**
 * Stops workers on SIGTERM and SIGINT and then ends the process: with 0 when no job was aborted and every result
 * was written, with 1 otherwise. It takes no longer than the workers' `stop` (see `StopOptions`) and `onStopped` may. A
 * second signal ends it at once with 128 + the signal's number; the leases it held then expire. Returns a function that
 * removes the signal handlers.
 */
export const stopOnSignals = (
  workers: RunningWorker | readonly RunningWorker[],
  options: StopOnSignalsOptions = {},
): (() => void) => {
  const all = parseWorkers(workers);
  const { deadlineMs, onStopped, process: host } = parseOptions(options);
  let stopping = false;

  const stopAll = async (): Promise<number> => {
    try {
      const result = addUp(await Promise.all(all.map((worker) => worker.stop({ deadlineMs }))));
      await endInTime(onStopped?.(result));
      return result.clean ? 0 : 1;
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

const addUp = (results: readonly StopResult[]): StopResult => {
  const sum = (field: Exclude<keyof StopResult, "clean">): number =>
    results.reduce((total, result) => total + result[field], 0);
  return {
    clean: results.every(({ clean }) => clean),
    releasedJobs: sum("releasedJobs"),
    abortedJobs: sum("abortedJobs"),
    abandonedJobs: sum("abandonedJobs"),
    unwrittenResults: sum("unwrittenResults"),
  };
};

const endInTime = async (work: Promise<void> | void): Promise<void> => {
  let cancel: (() => void) | undefined;
  const tooLate = new Promise<void>((_resolve, reject) => {
    const error = new Error(
      `onStopped has not returned within ${onStoppedMs} ms; the process ends all the same.`,
    );
    cancel = systemClock.setTimer(() => reject(error), onStoppedMs);
  });
  try {
    await Promise.race([work, tooLate]);
  } finally {
    cancel?.();
  }
};

// Checked now, because when the signal comes it is too late to report a mistake.
const parseWorkers = (workers: unknown): RunningWorker[] => {
  const all = Array.isArray(workers) ? requireArray(workers, "workers") : [workers];
  for (const worker of all) {
    if (typeof (worker as Partial<RunningWorker> | null | undefined)?.stop === "function") continue;
    throw new InvalidOptionError("workers", "must be a running worker, or an array of them", worker);
  }
  return all as RunningWorker[];
};

type HostProcess = NonNullable<StopOnSignalsOptions["process"]>;

const parseOptions = (passed: unknown): StopOnSignalsOptions & { readonly process: HostProcess } => {
  const {
    deadlineMs,
    onStopped,
    process: host = process,
  } = requireOptions<keyof StopOnSignalsOptions>(passed, "stopOnSignals", {
    deadlineMs: true,
    onStopped: true,
    process: true,
  });
  for (const method of ["on", "off", "exit"]) {
    if (typeof (host as Record<string, unknown> | null)?.[method] === "function") continue;
    throw new InvalidOptionError("process", `must have a method ${method}`, host);
  }
  const limits = { min: 0, max: longestDurationMs };
  return {
    deadlineMs: deadlineMs === undefined ? undefined : requireInteger(deadlineMs, "deadlineMs", limits),
    onStopped: onStopped === undefined ? undefined : requireFunction(onStopped, "onStopped"),
    process: host as HostProcess,
  };
};
