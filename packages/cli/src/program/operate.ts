import { type Command, Option } from "commander";
import type { Run } from "../commands/context.ts";
import { collect, collectOneOf, parseDuration, parseDurationFrom, parseInteger } from "../options/values.ts";

/** migrate, stats, top, prune, doctor, dashboard, mcp, bench. */
export const addOperatorCommands = (program: Command, run: Run): void => {
  const migrate = program.command("migrate").description("bring the tables up to date");
  migrate
    .option("--dry-run", "only print the SQL", false)
    .action((options) =>
      run(async (context) => (await import("../commands/migrate.ts")).migrate(context, options)),
    );
  migrate
    .command("status")
    .description("say what is applied and what is pending")
    .action(() => run(async (context) => (await import("../commands/migrate.ts")).migrateStatus(context)));

  program
    .command("stats")
    .description("count jobs by queue, type and status")
    .addOption(new Option("-q, --queue <queue>", "only this queue").argParser(collect))
    .addOption(
      new Option("--window <duration>", "what counts as lately")
        .argParser(parseDuration)
        .default(300_000, "5m"),
    )
    .action((options) =>
      run(async (context) => (await import("../commands/stats.ts")).stats(context, options)),
    );

  program
    .command("top")
    .description("watch queues, rates and latencies live")
    .addOption(new Option("-q, --queue <queue>", "only this queue").argParser(collect))
    .addOption(
      new Option("--interval <duration>", "how often to look, at least 100ms")
        .argParser(parseDurationFrom(100))
        .default(1_000, "1s"),
    )
    .option("-n, --count <number>", "look so many times, then end", parseInteger(1, 1_000_000))
    .action((options) => run(async (context) => (await import("../commands/top.ts")).top(context, options)));

  program
    .command("prune")
    .description("delete jobs that finished long ago")
    .addOption(
      new Option("--older-than <duration>", "how long ago they finished")
        .argParser(parseDuration)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option("-s, --status <status>", "completed, failed, or both (default: completed)").argParser(
        collect,
      ),
    )
    .option("-y, --yes", "do not ask")
    .action((options) =>
      run(async (context) => (await import("../commands/migrate.ts")).prune(context, options)),
    );

  program
    .command("doctor")
    .description("look for what slows or stops jobs: clocks, old transactions, indexes, leases, queues")
    .addOption(
      new Option("--stalled-after <duration>", "when a runnable job has waited too long")
        .argParser(parseDuration)
        .default(300_000, "5m"),
    )
    .addOption(
      new Option("--transaction-age <duration>", "when an open transaction of PostgreSQL is too old")
        .argParser(parseDuration)
        .default(60_000, "1m"),
    )
    .option("--repair", "set counters of limits right that do not match the running jobs", false)
    .option("--full", "also read every page of an SQLite file", false)
    .option("--strict", "let warnings count as problems", false)
    .action((options) =>
      run(async (context) => (await import("../commands/doctor.ts")).doctor(context, options)),
    );

  program
    .command("dashboard")
    .description("show jobs on a web page, and look after them there")
    .option("--port <number>", "where to listen", parseInteger(0, 65_535), 7_878)
    .option(
      "--host <address>",
      "where to listen; others than this machine need a token or a proxy",
      "127.0.0.1",
    )
    .option("--read-only", "refuse every action", false)
    .option("--base-path <path>", "where the page is, as the browser sees it")
    .option("--mount-path <path>", "where requests arrive, if a proxy removes part of the path")
    .addOption(
      new Option("--allowed-host <name>", "a host name of the page, besides those of this machine").argParser(
        collect,
      ),
    )
    .option(
      "--token-file <file>",
      "a token for repeated use, or a line with name, rights and token for each user",
    )
    .option("--user-header <name>", "the header in which a proxy says who has signed in")
    .addOption(
      new Option("--session <duration>", "how long a browser stays signed in")
        .argParser(parseDuration)
        .default(43_200_000, "12h"),
    )
    .option("--label <text>", "the name of this installation, on every page")
    .addOption(
      new Option("--tone <tone>", "the colour of the label").choices(["neutral", "warning", "danger"]),
    )
    .option("--open", "open the page in a browser", false)
    .action((options) =>
      run(async (context) => (await import("../commands/dashboard.ts")).dashboard(context, options)),
    );

  program
    .command("mcp")
    .description("let an assistant read jobs, by the Model Context Protocol on stdin and stdout")
    .addOption(
      new Option(
        "--allow <actions>",
        "also let it act, each time with a plan first: redrive, cancel, pause",
      ).argParser(collectOneOf(["redrive", "cancel", "pause"])),
    )
    .option("--no-payloads", "hide inputs, outputs and error messages")
    .action((options) =>
      run(async (context) =>
        (await import("../commands/mcp.ts")).mcp(context, options, program.version() ?? ""),
      ),
    );

  program
    .command("bench")
    .description("measure this store: run jobs that do nothing, and delete them again")
    .option("-n, --jobs <number>", "how many jobs", parseInteger(1, 10_000_000), 10_000)
    .option("--batch <number>", "how many are started in one call", parseInteger(1, 10_000), 500)
    .option("-c, --concurrency <number>", "jobs at once", parseInteger(1, 10_000), 100)
    .option("--payload <bytes>", "size of each input", parseInteger(0, 1_000_000), 100)
    .option("-y, --yes", "do not ask")
    .action((options) =>
      run(async (context) => (await import("../commands/bench.ts")).bench(context, options)),
    );
};

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
      run(async (context) => (await import("../commands/worker.ts")).workerRun(context, module, options)),
    );
};
