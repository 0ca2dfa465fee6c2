import { type Command, CommanderError } from "commander";
import { type CommandContext, DeclinedError, type GlobalOptions } from "./commands/context.ts";
import { describeError, describeUsageError, stackOf } from "./output/errors.ts";
import { exitCodes } from "./output/exit-codes.ts";
import { createOutput, type Output } from "./output/output.ts";
import { createRedactor, type Redactor } from "./output/redact.ts";
import { printable } from "./output/text.ts";
import { createProgram } from "./program.ts";

const createContext = (options: GlobalOptions, output: Output, redactor: Redactor): CommandContext => {
  const cwd = process.cwd();
  const { env } = process;
  return {
    output,
    cwd,
    env,
    storeNames: async () => (await import("./store/open.ts")).findStoreNames({ ...options, cwd, env }),
    withStore: async (needs, callback) => {
      const { notifies = false, create = false, migrated = true, connections } = needs;
      const { openStore } = await import("./store/open.ts");
      const { store, found } = await openStore(
        { ...options, ...needs.options, cwd, env },
        { notifies, create, migrated, connections, storeDeadlineMs: options.timeout },
        redactor.addAddress,
      );
      try {
        return await callback(store, found);
      } finally {
        await store.close();
      }
    },
  };
};

interface ReportOptions {
  readonly debug: boolean;
  /** The command whose arguments were wrong. */
  readonly usage: string;
}

const report = (output: Output, error: unknown, { debug, usage }: ReportOptions): number => {
  // The help that was asked for, or that is shown where a command was left out.
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done;
  if (error instanceof CommanderError && error.code === "commander.help") return exitCodes.usage;
  if (error instanceof DeclinedError) {
    output.note("Nothing was changed.");
    return exitCodes.notConfirmed;
  }
  const described = error instanceof CommanderError ? describeUsageError(error, usage) : describeError(error);
  const { code, exitCode } = described;
  // Before they are quoted or escaped, which would hide a password from the redaction and not from a reader.
  const message = output.redact(described.message);
  const hint = described.hint && output.redact(described.hint);
  if (output.json) output.complain(JSON.stringify({ error: { code, message, hint } }));
  else {
    output.complain(`${output.colours.red("error")} ${printable(message)}`);
    if (hint !== undefined) output.complain(`${output.colours.cyan("hint")}  ${hint}`);
  }
  if (debug) output.complain(printable(output.redact(stackOf(error))));
  return exitCode;
};

/** Runs the command with these arguments and returns its exit code. */
export const main = async (argv: readonly string[]): Promise<number> => {
  // The reader has closed the pipe: `leasehold list | head`.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(exitCodes.done);
    throw error;
  });
  const { env } = process;
  const redactor = createRedactor();
  for (const word of argv.slice(2)) redactor.addAddress(word);
  for (const name of ["LEASEHOLD_STORE", "DATABASE_URL"]) redactor.addAddress(env[name] ?? "");
  redactor.addSecret(env["PGPASSWORD"] ?? "");
  const outputFor = (json: boolean): Output => createOutput({ json, redact: redactor.redact, env });
  let output = outputFor(argv.includes("--json"));
  let exitCode: number = exitCodes.done;
  const program = createProgram((options) => async (work) => {
    output = outputFor(options.json === true);
    exitCode = await work(createContext(options, output, redactor));
  });
  let usage = program.name();
  const configureErrors = (command: Command, path: string): void => {
    command.configureOutput({
      writeErr: (text) => {
        if (!output.json) output.complain(text.trimEnd());
      },
      // Reported below, as every error.
      outputError: () => {
        usage = path;
      },
    });
    for (const sub of command.commands) configureErrors(sub, `${path} ${sub.name()}`);
  };
  configureErrors(program, program.name());
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    return report(output, error, { debug: env["LEASEHOLD_DEBUG"] !== undefined, usage });
  }
};
