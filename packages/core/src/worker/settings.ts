import { readLoopRetryConfig } from "../base/backoff.ts";
import { InvalidOptionError } from "../base/errors.ts";
import {
  largestInt32,
  longestDurationMs,
  optionalInteger,
  type OptionNames,
  requireInteger,
  requireName,
  requireNestedOptions,
  requireOptions,
  requirePlainObject,
  type UncheckedOptions,
} from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import type { RetryPolicy } from "../job-types/retry-policy.ts";
import { defaultQueue } from "../job-types/settings.ts";
import { InvalidLeaseDurationError } from "../store/errors.ts";
import type { QueueOptions, RunUntilIdleOptions, WorkerStartOptions } from "./api.ts";
import type { QueueSettings, WorkerSettings } from "./context.ts";

const largestConcurrency = 10_000;

const sharedOptions = {
  workerId: true,
  concurrency: true,
  queues: true,
  prefetch: true,
  pollIntervalMs: true,
  leaseMs: true,
  maxAttempts: true,
  abortGraceMs: true,
  commitBatchSize: true,
  commitLingerMs: true,
  workerLoopRetryConfig: true,
} as const;

const startOptions: OptionNames<keyof WorkerStartOptions> = {
  ...sharedOptions,
  reapIntervalMs: true,
  pruneIntervalMs: true,
  idleSleepMs: true,
  stopDeadlineMs: true,
};

const runOptions: OptionNames<keyof RunUntilIdleOptions> = { ...sharedOptions, deadlineMs: true };

// As long as the default of `pollIntervalMs`: a loop that fails is no more patient than an idle one.
const defaultLoopBackoff = { firstMs: 100, longestMs: 1_000 } as const;

/** Checks everything that can be said at `start`, and fills in the rest. */
export const parseWorkerSettings = (
  engine: Engine,
  passed: unknown,
  typeNames: readonly string[],
  retry: RetryPolicy | undefined,
): WorkerSettings => parseSettings(engine, requireOptions(passed, "start", startOptions), typeNames, retry);

/** How long a run lasts, from its beginning. */
export interface RunTimes {
  readonly deadlineMs: number;
  /** When handlers that still run are aborted. */
  readonly abortAfterMs: number;
}

/** The same for `runUntilIdle`. */
export const parseRunSettings = (
  engine: Engine,
  passed: unknown,
  typeNames: readonly string[],
  retry: RetryPolicy | undefined,
): { readonly settings: WorkerSettings; readonly times: RunTimes } => {
  const options = requireOptions(passed, "runUntilIdle", runOptions);
  const deadlineMs = requireInteger(options.deadlineMs, "deadlineMs", { min: 1, max: longestDurationMs });
  // For aborted handlers by default, and for writing results.
  const shareMs = Math.min(1_000, Math.floor(deadlineMs / 8));
  const limits = { min: 0, max: deadlineMs - shareMs };
  const abortGraceMs = optionalInteger(options.abortGraceMs, "abortGraceMs", shareMs, limits);
  return {
    settings: parseSettings(engine, { ...options, abortGraceMs }, typeNames, retry),
    times: { deadlineMs, abortAfterMs: deadlineMs - shareMs - abortGraceMs },
  };
};

const parseSettings = (
  engine: Engine,
  options: Partial<UncheckedOptions<keyof WorkerStartOptions>>,
  typeNames: readonly string[],
  retry: RetryPolicy | undefined,
): WorkerSettings => {
  const integer = (option: keyof WorkerStartOptions, fallback: number, min: number, max: number): number =>
    optionalInteger(options[option], option, fallback, { min, max });

  const concurrency = integer("concurrency", 10, 1, largestConcurrency);
  return {
    workerId:
      options.workerId === undefined
        ? `worker-${engine.runtime.createToken().slice(0, 8)}`
        : requireName(options.workerId, "workerId"),
    concurrency,
    queues: parseQueues(engine, options.queues, concurrency, typeNames),
    prefetch: integer("prefetch", 1_000, 0, largestConcurrency),
    pollIntervalMs: integer("pollIntervalMs", 1_000, 1, longestDurationMs),
    leaseMs: options.leaseMs === undefined ? 30_000 : parseLease(options.leaseMs),
    retry,
    maxAttempts: options.maxAttempts === undefined ? undefined : integer("maxAttempts", 1, 1, largestInt32),
    reapIntervalMs: integer("reapIntervalMs", 5_000, 1, longestDurationMs),
    pruneIntervalMs: integer("pruneIntervalMs", 60_000, 1, longestDurationMs),
    idleSleepMs:
      options.idleSleepMs === undefined ? undefined : integer("idleSleepMs", 1, 1, longestDurationMs),
    abortGraceMs: integer("abortGraceMs", 5_000, 0, longestDurationMs),
    stopDeadlineMs: integer("stopDeadlineMs", 30_000, 0, longestDurationMs),
    commitBatchSize: integer("commitBatchSize", 500, 1, largestConcurrency),
    commitLingerMs: integer("commitLingerMs", 0, 0, 1_000),
    loopBackoff: {
      ...readLoopRetryConfig(options.workerLoopRetryConfig, "workerLoopRetryConfig", defaultLoopBackoff),
      jitter: "half",
    },
  };
};

const parseLease = (value: unknown): number => {
  if (typeof value === "number" && value <= 0) throw new InvalidLeaseDurationError(value);
  // Below this, a heartbeat every third of it cannot be kept up.
  return requireInteger(value, "leaseMs", { min: 10, max: longestDurationMs });
};

const parseQueues = (
  engine: Engine,
  value: unknown,
  concurrency: number,
  typeNames: readonly string[],
): QueueSettings[] => {
  if (value === undefined) {
    const names = new Set(typeNames.map((typeName) => engine.jobTypes.get(typeName).queue ?? defaultQueue));
    return [...names.add(defaultQueue)].map((name) => ({ name, concurrency, claimAllTypes: false }));
  }
  const queues = Object.entries(requirePlainObject(value, "queues")).map(([name, settings]) => {
    const option = `queues[${JSON.stringify(name)}]`;
    requireName(name, option);
    const limits = { min: 1, max: largestConcurrency };
    if (typeof settings === "number") {
      return { name, concurrency: requireInteger(settings, option, limits), claimAllTypes: false };
    }
    const { concurrency: own, claimAllTypes = false } = requireNestedOptions<keyof QueueOptions>(
      settings,
      option,
      {
        concurrency: true,
        claimAllTypes: true,
      },
    );
    if (typeof claimAllTypes !== "boolean") {
      throw new InvalidOptionError(`${option}.claimAllTypes`, "must be true or false", claimAllTypes);
    }
    return {
      name,
      concurrency: own === undefined ? concurrency : requireInteger(own, `${option}.concurrency`, limits),
      claimAllTypes,
    };
  });
  if (queues.length === 0) throw new InvalidOptionError("queues", "must name at least one queue", value);
  return queues;
};
