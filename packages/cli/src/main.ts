import { type Command, CommanderError } from "commander";
import type { CommandContext } from "./command-context.ts";
import { exitCodes } from "./exit-codes.ts";
import { describeError } from "./output/describe-error.ts";
import { createOutput, type Output } from "./output/output.ts";
import { printable } from "./output/printable.ts";
import { createRedactor, type Redactor } from "./output/redact.ts";
import { createProgram, type GlobalOptions } from "./program.ts";

const createContext = (options: GlobalOptions, output: Output, redactor: Redactor): CommandContext => {
  const cwd = process.cwd();
  const { env } = process;
  return {
    output,
    cwd,
    env,
    withStore: async ({ hints = false, create = false, migrated = true, connections }, callback) => {
      const { openStore } = await import("./store/open-store.ts");
      const { store, found } = await openStore(
        { ...options, cwd, env },
        { hints, create, migrated, connections, storeDeadlineMs: options.timeout },
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

const report = (output: Output, error: unknown, debug: boolean): number => {
  // Commander has printed its own message already, or the help that was asked for.
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done;
  if (error instanceof CommanderError && !output.json) return exitCodes.usage;
  const { code, message, hint, exitCode } = describeError(error);
  if (output.json) output.complain(JSON.stringify({ error: { code, message, hint } }));
  else {
    output.complain(`${output.colours.red("error")} ${printable(message)}`);
    if (hint !== undefined) output.complain(`${output.colours.cyan("hint")}  ${hint}`);
  }
  if (debug && error instanceof Error) output.complain(printable(error.stack ?? ""));
  return exitCode;
};

/** Runs the command with these arguments and returns its exit code. */
export const main = async (argv: readonly string[]): Promise<number> => {
  // Somebody who has seen enough closes the pipe: `leasehold list | head`.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(exitCodes.done);
    throw error;
  });
  const { env } = process;
  const redactor = createRedactor();
  const outputFor = (json: boolean): Output => createOutput({ json, redact: redactor.redact, env });
  let output = outputFor(argv.includes("--json"));
  let exitCode: number = exitCodes.done;
  const program = createProgram((options) => async (work) => {
    output = outputFor(options.json === true);
    exitCode = await work(createContext(options, output, redactor));
  });
  const configureErrors = (command: Command): void => {
    command.configureOutput({
      writeErr: (text) => {
        if (!output.json) output.complain(text.trimEnd());
      },
    });
    for (const sub of command.commands) configureErrors(sub);
  };
  configureErrors(program);
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    return report(output, error, env["LEASEHOLD_DEBUG"] !== undefined);
  }
};
