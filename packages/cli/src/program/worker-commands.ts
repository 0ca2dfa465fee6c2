import { type Command, Option } from "commander";
import { collect, parseDuration, parseInteger } from "../options/values.ts";
import type { Run } from "./run.ts";

/** worker run. */
export const addWorkerCommands = (program: Command, run: Run): void => {
  const worker = program.command("worker").description("run workers");
  worker
    .command("run [module]")
    .description("run the worker that a module exports, until SIGINT or SIGTERM")
    .option("-c, --concurrency <number>", "jobs at once", parseInteger(1, 10_000))
    .addOption(
      new Option(
        "-q, --queue <queue[=limit]>",
        "serve this queue, with at most so many jobs at once",
      ).argParser(collect),
    )
    .option("--worker-id <id>", "the worker's name")
    .option("--lease <duration>", "how long it may be silent before others take its jobs", parseDuration)
    .option("--poll-interval <duration>", "how often to look for jobs without a notification", parseDuration)
    .option("--stop-deadline <duration>", "how long running jobs may go on after a signal", parseDuration)
    .addOption(
      new Option("--log-level <level>", "what to print")
        .choices(["debug", "info", "warn", "error"])
        .default("info"),
    )
    .action((module: string | undefined, options) =>
      run(async (context) => (await import("../commands/worker-run.ts")).workerRun(context, module, options)),
    );
};
