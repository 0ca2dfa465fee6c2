import type { Command } from "commander";
import { addFilterOptions } from "../options/job-filter.ts";
import { parseInteger, parseSchedule } from "../options/values.ts";
import type { Run } from "./run.ts";

const addChoice = (command: Command): Command =>
  addFilterOptions(command, { status: false })
    .option("-a, --all", "every failed job")
    .option(
      "-n, --limit <number>",
      "how many at most (default: all)",
      parseInteger(1, Number.MAX_SAFE_INTEGER),
    )
    .option("--dry-run", "only say what would happen", false)
    .option("-y, --yes", "do not ask");

/** failed list, failed redrive, failed delete. */
export const addFailedCommands = (program: Command, run: Run): void => {
  const failed = program.command("failed").description("look after failed jobs, the dead letters");

  addFilterOptions(failed.command("list").description("list failed jobs, the newest first"), {
    status: false,
  })
    .option("-n, --limit <number>", "how many", parseInteger(1, 1_000), 50)
    .option("--after <id>", "go on after this job, the last of an earlier page")
    .option("--cursor <cursor>", "the same with the cursor that --json prints")
    .action((options) =>
      run(async (context) =>
        (await import("../commands/list.ts")).list(context, {
          order: "newest",
          ...options,
          status: ["failed"],
        }),
      ),
    );

  addChoice(
    failed.command("redrive [ids...]").description("run failed jobs again, and what failed because of them"),
  )
    .option("--at <when>", "not before: a date, or how long from now (10m)", parseSchedule)
    .action((ids: string[], options) =>
      run(async (context) =>
        (await import("../commands/failed-redrive.ts")).redriveFailed(context, ids, options),
      ),
    );

  addChoice(
    failed.command("delete [ids...]").description("delete failed jobs, each with the tree it belongs to"),
  )
    .option("--force", "also trees with jobs that are not finished")
    .action((ids: string[], options) =>
      run(async (context) =>
        (await import("../commands/failed-delete.ts")).deleteFailed(context, ids, options),
      ),
    );
};
