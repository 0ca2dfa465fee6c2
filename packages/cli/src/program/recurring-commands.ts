import { type Command, Option } from "commander";
import { parseInteger } from "../options/values.ts";
import type { Run } from "./run.ts";

/** recurring list, show, preview, pause, resume, trigger, delete. */
export const addRecurringCommands = (program: Command, run: Run): void => {
  const recurring = program
    .command("recurring")
    .description("jobs by cron expression and interval: list, show, preview, pause, resume, trigger, delete");
  const load = () => import("../commands/recurring.ts");

  recurring
    .command("list")
    .description("list recurring jobs, by id")
    .option("--owner <name>", "only those that this program declared")
    .option("-n, --limit <number>", "how many", parseInteger(1, 1_000), 50)
    .option("--cursor <cursor>", "go on where a list ended")
    .action((options) => run(async (context) => (await load()).listRecurring(context, options)));

  recurring
    .command("show <id>")
    .description("show a recurring job, and what became of its latest times")
    .action((id) => run(async (context) => (await load()).showRecurring(context, id)));

  recurring
    .command("preview [id]")
    .description("say when a recurring job comes, or would come")
    .addOption(new Option("--cron <expression>", "instead of an id"))
    .addOption(new Option("--time-zone <name>", "with --cron; an IANA name (default: UTC)"))
    .option("-n, --count <number>", "how many times", parseInteger(1, 1_000), 10)
    .action((id, options) => run(async (context) => (await load()).previewRecurring(context, id, options)));

  recurring
    .command("pause <id>")
    .description("stop it from starting jobs")
    .action((id) => run(async (context) => (await load()).pauseRecurring(context, id)));

  recurring
    .command("resume <id>")
    .description("let it go on with its next time")
    .action((id) => run(async (context) => (await load()).resumeRecurring(context, id)));

  recurring
    .command("trigger <id>")
    .description("start a job of it now; its regular times stay")
    .action((id) => run(async (context) => (await load()).triggerRecurring(context, id)));

  recurring
    .command("delete <id>")
    .description("delete it; the jobs that it has started stay")
    .option("-y, --yes", "do not ask")
    .action((id, options) => run(async (context) => (await load()).deleteRecurring(context, id, options)));
};
