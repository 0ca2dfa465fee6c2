import { type Command, Option } from "commander";
import { jobStatuses } from "leasehold/adapter";
import type { Run } from "../commands/context.ts";
import { addChoice, addFilterOptions } from "../options/job-choice.ts";
import {
  collect,
  collectChange,
  collectOneOf,
  collectRemoval,
  parseDuration,
  parseInput,
  parseInteger,
  parseMoment,
  parseSchedule,
} from "../options/values.ts";

const all = "every failed job";

/** How the inputs of the chosen jobs are to change. */
const addInputEdits = (command: Command): Command =>
  command
    .option("-i, --input <json>", "with this input: JSON, @file, or - for stdin", parseInput)
    .addOption(
      new Option(
        "--set <property=json>",
        "with this value in the input: to='\"ada\"', items.0.count=2",
      ).argParser(collectChange),
    )
    .addOption(
      new Option("--unset <property>", "without this property of the input").argParser(collectRemoval),
    );

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
        (await import("../commands/query.ts")).list(context, {
          order: "newest",
          ...options,
          status: ["failed"],
        }),
      ),
    );

  addInputEdits(
    addChoice(
      failed
        .command("redrive [ids...]")
        .description(
          "run failed jobs again, and what failed because of them, as they are or with another input",
        ),
      { all, status: false },
    ).option("--at <when>", "not before: a date, or how long from now (10m)", parseSchedule),
  ).action((ids: string[], options) =>
    run(async (context) => {
      const { editJobs, hasEdits } = await import("../commands/edit.ts");
      if (options.input === undefined && !hasEdits(options))
        return (await import("../commands/change.ts")).redriveFailed(context, ids, options);
      return editJobs(context, ids, options, "failed");
    }),
  );

  addChoice(
    failed.command("delete [ids...]").description("delete failed jobs, each with the tree it belongs to"),
    { all, status: false },
  )
    .option("--force", "also trees with jobs that are not finished")
    .action((ids: string[], options) =>
      run(async (context) => (await import("../commands/change.ts")).deleteFailed(context, ids, options)),
    );
};

// Not from "leasehold": the whole of it would double the time that help and completion take.
const largestPriority = 2 ** 31 - 1;

/** start, list, sequences, inspect, cancel, complete, delete. */
export const addJobCommands = (program: Command, run: Run): void => {
  program
    .command("start <type>")
    .alias("enqueue")
    .description("start a job of this type, and print its id")
    .option("-i, --input <json>", "the input: JSON, @file, or - for stdin", parseInput)
    .option("--id <id>", "the id, so that a second try is recognised")
    .option("-q, --queue <queue>", "the queue")
    .option("-p, --priority <number>", "higher runs first", parseInteger(-largestPriority, largestPriority))
    .option("-g, --group <group>", "the group, for limits and turns")
    .option("--max-attempts <number>", "how often it may run in all", parseInteger(1, 1_000_000))
    .option("--time-limit <duration>", "how long one attempt may take", parseDuration)
    .option("--at <when>", "not before: a date, or how long from now (10m)", parseSchedule)
    .option("--key <key>", "deduplication key: at most one unfinished sequence of it")
    .option("--wait [duration]", "wait for the end, and print the output (default: 30s)", parseDuration)
    .action((type: string, options) =>
      run(async (context) => (await import("../commands/start.ts")).start(context, type, options)),
    );

  addFilterOptions(program.command("list").description("list jobs, the newest first"), { status: true })
    .option("--input-contains <text>", "jobs with this text in their input; a bounded number is searched")
    .option("-n, --limit <number>", "how many", parseInteger(1, 1_000), 50)
    .option("--after <id>", "go on after this job, the last of an earlier page")
    .option("--cursor <cursor>", "the same with the cursor that --json prints")
    .addOption(new Option("--order <order>", "by creation").choices(["newest", "oldest"]).default("newest"))
    .action((options) =>
      run(async (context) => (await import("../commands/query.ts")).list(context, options)),
    );

  program
    .command("sequences")
    .description("list sequences, the newest first, each with the job it has come to")
    .addOption(
      new Option("-s, --status <status>", `sequences in this status: ${jobStatuses.join(", ")}`).argParser(
        collectOneOf(jobStatuses),
      ),
    )
    .addOption(new Option("-t, --type <type>", "sequences that began with this type").argParser(collect))
    .option("--roots-only", "only the tops of trees: no blockers, nothing that a job started", false)
    .option("--root <id>", "sequences of the tree below this one")
    .option("--created-after <when>", "started since: a date, or how long ago (2h)", parseMoment)
    .option("--created-before <when>", "started before", parseMoment)
    .option("-n, --limit <number>", "how many", parseInteger(1, 1_000), 50)
    .option("--cursor <cursor>", "go on where an earlier page ended")
    .addOption(new Option("--order <order>", "by creation").choices(["newest", "oldest"]).default("newest"))
    .action((options) =>
      run(async (context) => (await import("../commands/query.ts")).sequences(context, options)),
    );

  program
    .command("inspect <id>")
    .description("show all of a job: timeline, error, lease, blockers, and why it is not running")
    .option("--stack", "with the stack of the error", false)
    .action((id: string, options) =>
      run(async (context) => (await import("../commands/query.ts")).inspect(context, id, options)),
    );

  addChoice(
    program
      .command("cancel [ids...]")
      .description(
        "cancel sequences, by their id, that of any of their jobs, or a filter of unfinished jobs",
      ),
    { all: "every job that is not finished", reason: false, status: true },
  )
    .option("--reason <text>", "what to write down as the reason")
    .option("--with-children", "also what their jobs have started, with all that follows from that")
    .action((ids: string[], options) =>
      run(async (context) => (await import("../commands/change.ts")).cancel(context, ids, options)),
    );

  program
    .command("complete <id>")
    .description("complete a job without a worker: an approval, or something done by hand")
    .option("-o, --output <json>", "the output: JSON, @file, or - for stdin (default: null)", parseInput)
    .option("--continue-with <type>", "instead of an output, the job that follows in the sequence")
    .option("-i, --input <json>", "the input of the job that follows (default: null)", parseInput)
    .option("--ends", "the sequence ends with it, also if its type may continue")
    .option("-y, --yes", "do not ask")
    .action((id: string, options) =>
      run(async (context) => (await import("../commands/complete.ts")).complete(context, id, options)),
    );

  addChoice(
    program.command("delete [ids...]").description("delete finished jobs, each with the tree it belongs to"),
    { all: "every finished job", status: true },
  )
    .option("--force", "also trees with jobs that are not finished")
    .action((ids: string[], options) =>
      run(async (context) => (await import("../commands/change.ts")).deleteFinished(context, ids, options)),
    );
};

const largestPriorityWaitingCommands = 2 ** 31 - 1;

const allWaitingCommands = "every job that waits";

/** waiting run-now, waiting update. */
export const addWaitingCommands = (program: Command, run: Run): void => {
  const waiting = program
    .command("waiting")
    .description("change jobs that wait: blocked, pending, or for a retry");

  addChoice(waiting.command("run-now [ids...]").description("let jobs run that wait for their time"), {
    all: allWaitingCommands,
    status: true,
  }).action((ids: string[], options) =>
    run(async (context) =>
      (await import("../commands/change.ts")).updateWaiting(context, ids, {
        ...options,
        at: { afterMs: 0 },
      }),
    ),
  );

  addInputEdits(
    addChoice(
      waiting.command("update [ids...]").description("change when jobs run, their priority or their input"),
      { all: allWaitingCommands, status: true },
    )
      .option("--at <when>", "not before: a date, or how long from now (10m)", parseSchedule)
      .option(
        "-p, --priority <number>",
        "higher runs first",
        parseInteger(-largestPriorityWaitingCommands, largestPriorityWaitingCommands),
      ),
  ).action((ids: string[], options) =>
    run(async (context) => {
      const { editJobs, hasEdits } = await import("../commands/edit.ts");
      if (!hasEdits(options))
        return (await import("../commands/change.ts")).updateWaiting(context, ids, options);
      return editJobs(context, ids, options, "waiting");
    }),
  );
};
