import type { Command } from "commander";
import { addChoice } from "../options/add-choice.ts";
import { addFilterOptions } from "../options/job-filter.ts";
import { parseInteger, parseSchedule } from "../options/values.ts";
import type { Run } from "./run.ts";

const all = "every failed job";

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
    { all },
  )
    .option("--at <when>", "not before: a date, or how long from now (10m)", parseSchedule)
    .action((ids: string[], options) =>
      run(async (context) =>
        (await import("../commands/failed-redrive.ts")).redriveFailed(context, ids, options),
      ),
    );

  addChoice(
    failed.command("delete [ids...]").description("delete failed jobs, each with the tree it belongs to"),
    { all },
  )
    .option("--force", "also trees with jobs that are not finished")
    .action((ids: string[], options) =>
      run(async (context) =>
        (await import("../commands/failed-delete.ts")).deleteFailed(context, ids, options),
      ),
    );
};
