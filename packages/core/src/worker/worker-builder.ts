import type { ImplementJobTypeOptions, RunningWorker, WorkerDefinitionOptions } from "../api/worker.ts";
import type { Engine } from "../engine/engine.ts";
import { largestInt32, longestDurationMs } from "../model/limits.ts";
import { InvalidOptionError } from "../errors.ts";
import {
  type OptionNames,
  requireFunction,
  requireInteger,
  requireName,
  requireOptions,
} from "../model/option-checks.ts";
import { parseRetryPolicy } from "../model/retry-policy.ts";
import { composeMiddleware, type MiddlewareFunction } from "./middleware.ts";
import type { CrashIsolation } from "./crash-isolation.ts";
import { startWorker } from "./running-worker.ts";
import { parseWorkerSettings } from "./settings.ts";
import type { Handler, HandlerFunction } from "./worker-context.ts";

export interface UntypedWorkerBuilder {
  use(middleware: unknown): UntypedWorkerBuilder;
  implementJobType(options: unknown): UntypedWorkerBuilder;
  start(options?: unknown): Promise<RunningWorker>;
}

interface Implementation extends Omit<Handler, "run"> {
  readonly process: HandlerFunction;
}

/** Collects handlers and middleware. A builder can start any number of workers. */
export const createWorkerBuilder = (
  engine: Engine,
  crashIsolation: CrashIsolation,
  passed: unknown = {},
): UntypedWorkerBuilder => {
  const { retry } = requireOptions<keyof WorkerDefinitionOptions>(passed, "createWorker", { retry: true });
  const workerRetry = retry === undefined ? undefined : parseRetryPolicy(retry, "retry");
  const middleware: MiddlewareFunction[] = [];
  const implementations = new Map<string, Implementation>();

  const builder: UntypedWorkerBuilder = {
    use: (layer) => {
      middleware.push(requireFunction(layer, "middleware"));
      return builder;
    },
    implementJobType: (options) => {
      const [typeName, implementation] = parseImplementation(engine, options);
      if (implementations.has(typeName)) {
        throw new InvalidOptionError("typeName", "must not be implemented twice in one worker", typeName);
      }
      implementations.set(typeName, implementation);
      return builder;
    },
    start: async (options = {}) => {
      if (implementations.size === 0) {
        throw new InvalidOptionError("implementJobType", "must be called at least once before start");
      }
      const settings = parseWorkerSettings(engine, options, [...implementations.keys()], workerRetry);
      const handlers = new Map<string, Handler>();
      for (const [typeName, { process, ...limits }] of implementations) {
        handlers.set(typeName, { ...limits, run: composeMiddleware(middleware, process) });
      }
      return engine.lifecycle.startWorker(() => startWorker(engine, crashIsolation, settings, handlers));
    },
  };
  return builder;
};

const implementationOptions: OptionNames<keyof ImplementJobTypeOptions<unknown, unknown, string, never>> = {
  typeName: true,
  process: true,
  retry: true,
  maxAttempts: true,
  timeoutMs: true,
};

const parseImplementation = (engine: Engine, passed: unknown): [string, Implementation] => {
  const options = requireOptions(passed, "implementJobType", implementationOptions);
  const { typeName, process, retry, maxAttempts, timeoutMs } = options;
  const name = requireName(typeName, "typeName");
  if (engine.jobTypes.get(name).workerless) {
    throw new InvalidOptionError("typeName", "must not be of a type that is marked as workerless", name);
  }
  const integer = (value: unknown, option: string, max: number): number | undefined =>
    value === undefined ? undefined : requireInteger(value, option, { min: 1, max });
  return [
    name,
    {
      process: requireFunction(process, "process"),
      retry: retry === undefined ? undefined : parseRetryPolicy(retry, "retry"),
      maxAttempts: integer(maxAttempts, "maxAttempts", largestInt32),
      timeoutMs: integer(timeoutMs, "timeoutMs", longestDurationMs),
    },
  ];
};
