import type { Command } from "commander";
import { addChoice } from "../options/add-choice.ts";
import { parseInput, parseInteger, parseSchedule } from "../options/values.ts";
import type { Run } from "./run.ts";

const largestPriority = 2 ** 31 - 1;

const all = "every job that waits";

/** waiting run-now, waiting update. */
export const addWaitingCommands = (program: Command, run: Run): void => {
  const waiting = program
    .command("waiting")
    .description("change jobs that wait: blocked, pending, or for a retry");

  addChoice(waiting.command("run-now [ids...]").description("let jobs run that wait for their time"), {
    all,
  }).action((ids: string[], options) =>
    run(async (context) =>
      (await import("../commands/waiting-update.ts")).updateWaiting(context, ids, {
        ...options,
        at: { afterMs: 0 },
      }),
    ),
  );

  addChoice(
    waiting.command("update [ids...]").description("change when jobs run, their priority or their input"),
    { all },
  )
    .option("--at <when>", "not before: a date, or how long from now (10m)", parseSchedule)
    .option("-p, --priority <number>", "higher runs first", parseInteger(-largestPriority, largestPriority))
    .option("-i, --input <json>", "the new input: JSON, @file, or - for stdin", parseInput)
    .action((ids: string[], options) =>
      run(async (context) =>
        (await import("../commands/waiting-update.ts")).updateWaiting(context, ids, options),
      ),
    );
};
