import { InvalidOptionError } from "../base/errors.ts";
import {
  largestInt32,
  longestDurationMs,
  optionalInteger,
  type OptionNames,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireName,
  requireOptions,
  requirePlainObject,
  type UncheckedOptions,
} from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { parseRetryPolicy } from "../job-types/retry-policy.ts";
import { ProcessMisuseError } from "../store/errors.ts";
import type {
  ImplementJobTypeOptions,
  RunningWorker,
  RunUntilIdleResult,
  WorkerDefinitionOptions,
} from "./api.ts";
import type { BatchSettings, Handler, HandlerFunction } from "./context.ts";
import type { ImplementJobTypeBatchOptions } from "./handler-api.ts";
import type { CrashIsolation } from "./held-jobs.ts";
import { handled } from "./session-guard.ts";
import { runUntilIdle } from "./run-until-idle.ts";
import { parseRunSettings, parseWorkerSettings } from "./settings.ts";
import { startWorker } from "./worker.ts";

const unfinishedNext =
  "A middleware ended while `next` was still running. Write `return next()`, or `await next()`";

export type MiddlewareFunction = (context: object, next: (values?: unknown) => Promise<unknown>) => unknown;

/** Handlers get the values next to what every handler gets, so none may take the place of another. */
const addValues = (options: object, values: unknown): void => {
  if (values === undefined) return;
  const added = requirePlainObject(values, "the argument of next");
  for (const name of Object.keys(added)) {
    if (name in options)
      throw new ProcessMisuseError(`A middleware passes \`${name}\` to next, which handlers already get`);
  }
  Object.assign(options, added);
};

/**
 * Puts middleware around a handler, the first one outermost. One that does not call `next` short-circuits:
 * what it returns is the output. What any of them throws fails the attempt like an error of the handler.
 */
const composeMiddleware = (
  middleware: readonly MiddlewareFunction[],
  process: HandlerFunction,
): Handler["run"] =>
  middleware.reduceRight<Handler["run"]>(
    (inner, layer) => (options) => {
      let called = false;
      let open = false;
      const close = (): void => {
        open = false;
      };
      const runInner = async (values: unknown): Promise<unknown> => {
        if (called) throw new ProcessMisuseError("A middleware can call next only once");
        called = true;
        addValues(options, values);
        return inner(options);
      };
      const next = (values?: unknown): Promise<unknown> => {
        const isFirst = !called;
        const running = handled(runInner(values));
        if (isFirst) {
          open = true;
          running.then(close, close);
        }
        return running;
      };
      return Promise.resolve(layer(options, next)).then((returned) => {
        // The result of the handler would be lost, and its error unreported.
        if (open) throw new ProcessMisuseError(unfinishedNext);
        return returned;
      });
    },
    process,
  );

export interface UntypedWorkerBuilder {
  use(middleware: unknown): UntypedWorkerBuilder;
  useForBatches(middleware: unknown): UntypedWorkerBuilder;
  implementJobType(options: unknown): UntypedWorkerBuilder;
  implementJobTypeBatch(options: unknown): UntypedWorkerBuilder;
  start(options?: unknown): Promise<RunningWorker>;
  runUntilIdle(options: unknown): Promise<RunUntilIdleResult>;
}

const largestBatch = 10_000;

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
  const batchMiddleware: MiddlewareFunction[] = [];
  const implementations = new Map<string, Implementation>();

  const add = ([typeName, implementation]: [string, Implementation]): UntypedWorkerBuilder => {
    if (implementations.has(typeName)) {
      throw new InvalidOptionError("typeName", "must not be implemented twice in one worker", typeName);
    }
    implementations.set(typeName, implementation);
    return builder;
  };

  const builder: UntypedWorkerBuilder = {
    use: (layer) => {
      middleware.push(requireFunction(layer, "middleware"));
      return builder;
    },
    useForBatches: (layer) => {
      batchMiddleware.push(requireFunction(layer, "middleware"));
      return builder;
    },
    implementJobType: (options) =>
      add(parseImplementation(engine, requireOptions(options, "implementJobType", implementationOptions))),
    implementJobTypeBatch: (options) => {
      const given = requireOptions(options, "implementJobTypeBatch", batchOptions);
      return add(parseImplementation(engine, given, parseBatch(given)));
    },
    start: async (options = {}) => {
      const handlers = composeHandlers("start");
      const settings = parseWorkerSettings(engine, options, [...handlers.keys()], workerRetry);
      const { inside: _, ...running } = await engine.lifecycle.startWorker(() =>
        startWorker(engine, crashIsolation, settings, handlers),
      );
      return running;
    },
    runUntilIdle: async (options) => {
      const handlers = composeHandlers("runUntilIdle");
      const { settings, times } = parseRunSettings(engine, options, [...handlers.keys()], workerRetry);
      return runUntilIdle(engine, times, () =>
        startWorker(engine, crashIsolation, settings, handlers, { isShortRun: true }),
      );
    },
  };

  const composeHandlers = (method: string): ReadonlyMap<string, Handler> => {
    if (implementations.size === 0) {
      throw new InvalidOptionError("implementJobType", `must be called at least once before ${method}`);
    }
    const handlers = new Map<string, Handler>();
    for (const [typeName, { process, ...limits }] of implementations) {
      const layers = limits.batch ? batchMiddleware : middleware;
      if (layers.length === 0 && middleware.length > 0) throw middlewareLeftOut(typeName);
      handlers.set(typeName, { ...limits, run: composeMiddleware(layers, process) });
    }
    return handlers;
  };
  return builder;
};

// Leaving it out silently could skip a check that users rely on.
const middlewareLeftOut = (typeName: string): InvalidOptionError =>
  new InvalidOptionError(
    "useForBatches",
    `must be called, too: the middleware of \`use\` gets one job, and the batch handler for "${typeName}" would run without it`,
  );

const implementationOptions: OptionNames<keyof ImplementJobTypeOptions<unknown, unknown, string, never>> = {
  typeName: true,
  process: true,
  retry: true,
  maxAttempts: true,
  timeoutMs: true,
};

const batchOptions: OptionNames<keyof ImplementJobTypeBatchOptions<unknown, unknown, string, never>> = {
  ...implementationOptions,
  maxSize: true,
  maxWaitMs: true,
  sameGroup: true,
};

const parseBatch = ({
  maxSize,
  maxWaitMs,
  sameGroup = false,
}: UncheckedOptions<keyof BatchSettings>): BatchSettings => ({
  maxSize: requireInteger(maxSize, "maxSize", { min: 1, max: largestBatch }),
  maxWaitMs: optionalInteger(maxWaitMs, "maxWaitMs", 0, { min: 0, max: longestDurationMs }),
  sameGroup: requireBoolean(sameGroup, "sameGroup"),
});

const parseImplementation = (
  engine: Engine,
  options: UncheckedOptions<keyof typeof implementationOptions>,
  batch?: BatchSettings,
): [string, Implementation] => {
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
      batch,
    },
  ];
};
