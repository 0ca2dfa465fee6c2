import { InvalidOptionError } from "leasehold";
import { readFile } from "node:fs/promises";
import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { workerlessTypeNames } from "../store/find-job.ts";
import type { CommandContext } from "./context.ts";
import { untilInterrupted } from "./signals.ts";

export interface DashboardOptions {
  readonly port: number;
  readonly host: string;
  readonly readOnly: boolean;
  readonly basePath?: string;
  readonly tokenFile?: string;
  readonly userHeader?: string;
}

const readToken = async (file: string | undefined): Promise<string | undefined> => {
  if (file === undefined) return undefined;
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (cause) {
    throw new CliError("TokenFileUnreadable", `The file ${file} cannot be read.`, {
      cause,
      exitCode: exitCodes.usage,
      hint: "Write a token of at least 16 characters into it.",
    });
  }
};

const refusalOf = (error: unknown): unknown => {
  const code = (error as { readonly code?: unknown } | null)?.code;
  if (code === "EADDRINUSE" || code === "EACCES" || code === "EADDRNOTAVAIL")
    return new CliError("CannotListen", `The server cannot listen there (${code}).`, {
      cause: error,
      exitCode: exitCodes.usage,
      hint: "Choose another --port or --host.",
    });
  if (!(error instanceof InvalidOptionError)) return error;
  const hint =
    error.option === "host"
      ? "Pass --token-file, or --user-header if a proxy in front signs people in."
      : "See `leasehold dashboard --help`.";
  return new CliError("InvalidOption", error.message, { cause: error, exitCode: exitCodes.usage, hint });
};

/** Serves the page until it is interrupted. */
export const dashboard = async (context: CommandContext, options: DashboardOptions): Promise<ExitCode> =>
  context.withStore({ notifies: true }, async ({ leasehold, stateAdapter, label }, found) => {
    const { startDashboard } = await import("@leasehold/dashboard");
    const { tokenFile, ...rest } = options;
    const token = await readToken(tokenFile);
    const running = await startDashboard({
      ...rest,
      token,
      leasehold,
      stateAdapter,
      workerless: workerlessTypeNames(found?.config.jobTypes),
    }).catch((error: unknown) => {
      throw refusalOf(error);
    });
    try {
      const { output } = context;
      if (output.json) output.printJson({ url: running.url });
      else {
        const once =
          token === undefined && rest.userHeader === undefined ? "The address signs in one browser. " : "";
        output.print(`The jobs of ${label} are shown at\n\n  ${running.url}\n\n${once}Ctrl-C ends it.`);
      }
      await untilInterrupted(
        (signal) =>
          new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })),
      );
    } finally {
      await running.close();
    }
    return exitCodes.done;
  });
