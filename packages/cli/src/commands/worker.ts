import { type LogLevel, type QueueOptions, stopOnSignals, type WorkerBuilder } from "leasehold";
import { resolve } from "node:path";
import type { WorkerContext } from "../config/config.ts";
import { loadModule, moduleError } from "../config/load.ts";
import { CliError, type ExitCode } from "../output/exit-codes.ts";
import { createLog } from "../output/log.ts";
import type { CommandContext } from "./context.ts";
import { signalSource } from "./signals.ts";

export interface WorkerRunOptions {
  readonly concurrency?: number;
  readonly queue?: readonly string[];
  readonly workerId?: string;
  readonly lease?: number;
  readonly pollInterval?: number;
  readonly stopDeadline?: number;
  readonly logLevel: LogLevel;
}

type AnyWorkerBuilder = Pick<WorkerBuilder<unknown, object, string>, "start">;

const isBuilder = (value: unknown): value is AnyWorkerBuilder =>
  typeof value === "object" && value !== null && "start" in value && typeof value.start === "function";

const buildWorker = async (
  exported: unknown,
  path: string,
  context: WorkerContext,
): Promise<AnyWorkerBuilder> => {
  const make = async (): Promise<unknown> => (typeof exported === "function" ? exported(context) : exported);
  const made = await make().catch((error: unknown) => {
    throw moduleError(`The worker module ${path} did not make a worker`, error);
  });
  if (isBuilder(made)) return made;
  const started = typeof made === "object" && made !== null && "stop" in made;
  throw new CliError("InvalidWorker", `${path} does not export a worker.`, {
    hint: started
      ? "It exports one that is started already: leave out .start(), this command does that."
      : "Its default export must be what createWorker().implementJobType(…) returns, or a function of ({ stateAdapter, notifyAdapter, log }) that returns it.",
  });
};

/** `mail`, or `mail=5` for at most five at once. */
const parseQueues = (
  queues: readonly string[] | undefined,
): Record<string, number | QueueOptions> | undefined => {
  if (queues === undefined) return undefined;
  return Object.fromEntries(
    queues.map((text) => {
      const match = /^(.+)=(\d+)$/.exec(text);
      return match ? [match[1]!, Number(match[2])] : [text, {}];
    }),
  );
};

// A handler may hold a connection for as long as it runs; claims, renewals, results and notifications must not wait for it.
const connectionsBeside = 4;

const mostConnections = 100;

const defaultConcurrency = 10;

const connectionsFor = (concurrency: number = defaultConcurrency): number =>
  Math.min(mostConnections, concurrency + connectionsBeside);

export const workerRun = async (
  context: CommandContext,
  module: string | undefined,
  options: WorkerRunOptions,
): Promise<ExitCode> =>
  context.withStore(
    { notifies: true, connections: connectionsFor(options.concurrency) },
    async ({ stateAdapter, notifyAdapter, label }, found) => {
      const { output, cwd } = context;
      const configured = found?.config.worker;
      const path =
        module !== undefined
          ? resolve(cwd, module)
          : configured !== undefined && found !== undefined
            ? resolve(found.folder, configured)
            : undefined;
      if (path === undefined) {
        throw new CliError("Usage", "No worker module was named.", {
          hint: "Pass its path, as in `leasehold worker run ./worker.ts`, or set `worker` in leasehold.config.ts.",
        });
      }
      const exported = await loadModule(path, "The worker module");
      const log = createLog(output, options.logLevel, {
        debug: context.env["LEASEHOLD_DEBUG"] !== undefined,
      });
      const builder = await buildWorker(exported["default"], path, { stateAdapter, notifyAdapter, log });
      const worker = await builder.start({
        concurrency: options.concurrency,
        queues: parseQueues(options.queue),
        workerId: options.workerId,
        leaseMs: options.lease,
        pollIntervalMs: options.pollInterval,
        stopDeadlineMs: options.stopDeadline,
      });
      output.note(`Worker ${worker.workerId} runs on ${label}. Ctrl-C stops it.`);
      const close = exported["close"];
      const code = await new Promise<number>((resolve) => {
        const host = signalSource(resolve, () =>
          output.note("Stopping: running jobs may finish. Ctrl-C again ends it at once."),
        );
        stopOnSignals(worker, {
          process: host,
          onStopped: async ({ abortedJobs, unwrittenResults }) => {
            if (abortedJobs > 0) output.note(`${abortedJobs} jobs did not end in time and were aborted.`);
            if (unwrittenResults > 0)
              output.note(`${unwrittenResults} results could not be written; these jobs will run again.`);
            if (typeof close === "function") await close();
          },
        });
      });
      return code as ExitCode;
    },
  );
