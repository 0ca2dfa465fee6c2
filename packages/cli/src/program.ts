import { Command, Option } from "commander";
import { readFileSync } from "node:fs";
import type { GlobalOptions, Run } from "./commands/context.ts";
import { parseDuration } from "./options/values.ts";
import { addCompletionCommands } from "./program/completion.ts";
import { addFailedCommands, addJobCommands, addWaitingCommands } from "./program/jobs.ts";
import { addLimitCommands, addRecurringCommands } from "./program/limits.ts";
import { addOperatorCommands, addWorkerCommands } from "./program/operate.ts";

const version = (
  JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }
).version;

const examples = `
Examples:
  leasehold migrate --store sqlite:./jobs.db
  leasehold worker run ./worker.ts
  leasehold start send-mail --input '{"to":"ada@example.com"}'
  leasehold list --status failed --created-after 2h
  leasehold inspect 019a8b1e-...        why is this job not running?
  leasehold failed redrive --type send-mail --dry-run

The store comes from --store, LEASEHOLD_STORE, leasehold.config.ts or DATABASE_URL, in this order.
Exit codes: 0 done, 1 error, 2 wrong usage, 3 no such job, 4 store not usable, 5 bad news, 6 not confirmed.`;

/** The whole command line, ready to parse. `runWith` gets the global options of the parsed command. */
export const createProgram = (runWith: (options: GlobalOptions) => Run): Command => {
  const program = new Command("leasehold")
    .description("Looks after durable background jobs in your own database.")
    .version(version)
    .addOption(
      new Option(
        "--store <address>",
        "sqlite:./jobs.db, postgres://user@host/database or mongodb://user@host/database",
      ),
    )
    .addOption(new Option("--config <path>", "config module, or the folder with it (default: this folder)"))
    .addOption(new Option("--schema <name>", "PostgreSQL schema of the tables"))
    .addOption(new Option("--table-prefix <prefix>", "prefix of SQLite tables or MongoDB collections"))
    .addOption(
      new Option("--timeout <duration>", "how long the store may take for one answer")
        .argParser(parseDuration)
        .default(30_000, "30s"),
    )
    .addOption(new Option("--json", "print JSON for programs"))
    .addOption(new Option("--no-color", "print without colours"))
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .addHelpText("after", examples)
    .exitOverride();
  const run: Run = (work) => runWith(program.opts<GlobalOptions>())(work);
  addJobCommands(program, run);
  addFailedCommands(program, run);
  addRecurringCommands(program, run);
  addWaitingCommands(program, run);
  addWorkerCommands(program, run);
  addLimitCommands(program, run);
  addOperatorCommands(program, run);
  addCompletionCommands(program, run);
  return program;
};
