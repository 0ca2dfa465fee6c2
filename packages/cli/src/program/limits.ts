import { type Command, Option } from "commander";
import type { Run } from "../commands/context.ts";
import {
  parseDuration,
  parseGroupWeight,
  parseInput,
  parseInteger,
  parseOrNone,
  parseRate,
} from "../options/values.ts";

const largestLimit = 2 ** 31 - 1;

const addScope = (command: Command): Command =>
  command.option("-q, --queue <queue>", "the queue").option("-t, --type <type>", "only jobs of this type");

/** limits, limits set, pause, resume, groups. */
export const addLimitCommands = (program: Command, run: Run): void => {
  const limits = program
    .command("limits")
    .description("show limits, rates and pauses, and how much of them is in use")
    .option("-q, --queue <queue>", "only this queue")
    .action((options) =>
      run(async (context) => (await import("../commands/limits.ts")).showLimits(context, options)),
    );

  const limit = parseOrNone(parseInteger(1, largestLimit));
  addScope(limits.command("set").description("change limits, for all workers at once; `none` removes one"))
    .option("-c, --concurrency <number>", "jobs that run at once", limit)
    .option(
      "--rate <limit/time>",
      "starts in a time: 100/1m, or 100/1m/10 where 10 may come at once",
      parseRate,
    )
    .option("-g, --group <group>", "--concurrency and --rate of this group of the type only")
    .option("--group-concurrency <number>", "jobs of each group that run at once", limit)
    .option("--group-rate <limit/time>", "the same as --rate, for each group", parseRate)
    .option("--weight <group=number>", "turns of a group for one of others", parseGroupWeight)
    // The parser gives --queue to `limits`, which has an option of this name, too.
    .action((_options, command: Command) =>
      run(async (context) =>
        (await import("../commands/limits.ts")).setLimits(context, command.optsWithGlobals()),
      ),
    );

  addScope(
    program.command("pause").description("start no more jobs of a queue, type or group; what runs goes on"),
  )
    .option("-g, --group <group>", "only this group of the type")
    .option("--for <duration>", "end the pause by itself after this time: 30s, 5m", parseDuration)
    .action((options) =>
      run(async (context) => (await import("../commands/limits.ts")).pause(context, options)),
    );

  addScope(program.command("resume").description("end a pause"))
    .option("-g, --group <group>", "this group of the type, also if it stopped at a failed job")
    .action((options) =>
      run(async (context) => (await import("../commands/limits.ts")).resume(context, options)),
    );

  program
    .command("groups <type>")
    .description("list the groups of a type that have waiting or running jobs")
    .option("-q, --queue <queue>", "the queue (default: that of the type)")
    .option("--throttled", "only groups that a limit or a pause stops", false)
    .addOption(
      new Option("--order <order>", "by name, longest wait first, or most running jobs first")
        .choices(["name", "waiting", "running"])
        .default("name"),
    )
    .option("-n, --limit <number>", "how many", parseInteger(1, 1_000), 50)
    .option("--cursor <cursor>", "go on where a list by name ended")
    .action((type: string, options) =>
      run(async (context) => (await import("../commands/limits.ts")).listGroups(context, type, options)),
    );
};

/** recurring list, show, preview, edit, pause, resume, trigger, delete. */
export const addRecurringCommands = (program: Command, run: Run): void => {
  const recurring = program
    .command("recurring")
    .description(
      "jobs by cron expression and interval: list, show, preview, edit, pause, resume, trigger, delete",
    );
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
    .command("edit <id>")
    .description("change when it comes, what it does then, or the input of its job; the rest stays")
    .option("--cron <expression>", "five fields, six with a leading second, or @daily and the like")
    .option("--time-zone <name>", "an IANA name")
    .option("--every <duration>", "an interval instead of a cron expression", parseDuration)
    .addOption(
      new Option("--overlap <policy>", "when the last run has not finished").choices([
        "skip",
        "queue_one",
        "replace",
        "allow",
      ]),
    )
    .addOption(
      new Option("--catch-up <policy>", "which of several times that are due").choices([
        "last",
        "all",
        "none",
      ]),
    )
    .option("--catch-up-window <duration>", "a time that is later than this is dropped", parseDuration)
    .option("--jitter <duration>", "begin up to this much later", parseDuration)
    .option("-i, --input <json>", "the input of its job: JSON, @file, or - for stdin", parseInput)
    .option("--dry-run", "only say when it would come", false)
    .option("-y, --yes", "do not ask")
    .action((id, options) => run(async (context) => (await load()).editRecurring(context, id, options)));

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
