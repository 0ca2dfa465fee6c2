import type { DashboardUser, StandaloneDashboard, StandaloneStore } from "@leasehold/dashboard";
import { InvalidOptionError } from "leasehold";
import { spawn } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import type { FoundConfig } from "../config/load.ts";
import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { workerlessTypeNames } from "../store/find-job.ts";
import { loadDashboard } from "../store/load-package.ts";
import type { OpenedStore } from "../store/store.ts";
import type { CommandContext } from "./context.ts";
import { untilInterrupted } from "./signals.ts";

type Tone = "neutral" | "warning" | "danger";

/** Options of `createDashboard`. */
export interface DashboardOptions {
  readonly port: number;
  readonly host: string;
  readonly readOnly: boolean;
  readonly basePath?: string;
  readonly mountPath?: string;
  readonly allowedHost?: readonly string[];
  readonly label?: string;
  readonly tone?: Tone;
  readonly tokenFile?: string;
  readonly userHeader?: string;
  readonly session: number;
  readonly open: boolean;
}

/** The users of a token file, which only its owner may read. */
const readUsers = async (
  file: string | undefined,
  folder: string,
): Promise<readonly DashboardUser[] | undefined> => {
  if (file === undefined) return undefined;
  let text: string;
  let mode: number;
  try {
    ({ mode } = await stat(file));
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new CliError("TokenFileUnreadable", `The file ${file} cannot be read.`, {
      cause,
      exitCode: exitCodes.usage,
      hint: "Write a token of at least 16 characters into it, or a line with name, rights and token for each user.",
    });
  }
  // Windows has no such modes.
  if (process.platform !== "win32" && (mode & 0o077) !== 0)
    throw new CliError("TokenFileNotPrivate", `Other users of this machine can open the file ${file}.`, {
      exitCode: exitCodes.usage,
      hint: `Run \`chmod 600 ${file}\`, and replace the tokens in it.`,
    });
  return (await loadDashboard(folder)).parseTokenFile(text);
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

const checkLabels = ({ label, tone }: DashboardOptions, names: readonly string[]): void => {
  const refuse = (message: string, hint: string): never => {
    throw new CliError("InvalidOption", message, { exitCode: exitCodes.usage, hint });
  };
  if (tone !== undefined && label === undefined)
    refuse("--tone needs a label to colour.", "Add --label, such as --label production.");
  if (label !== undefined && names.length > 0)
    refuse(
      "--label is for one store, and the config module names several.",
      "Their names are the labels; `tone` is a setting of each. Or choose one with --store.",
    );
};

/** Opens the page in the user's browser. */
const openInBrowser = (url: string, onFailure: () => void): void => {
  const commands: Readonly<Record<string, readonly [string, ...string[]]>> = {
    darwin: ["open", url],
    win32: ["cmd", "/c", "start", '""', url],
  };
  const [command, ...args] = commands[process.platform] ?? ["xdg-open", url];
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  child.once("error", onFailure);
  child.once("exit", (code) => {
    if (code !== null && code !== 0) onFailure();
  });
  child.unref();
};

type Start = (stores: readonly StandaloneStore[]) => Promise<ExitCode>;

/** Opens all stores that the config module names, one within the other, so that each is closed at the end. */
const withStores = (context: CommandContext, names: readonly string[], start: Start): Promise<ExitCode> => {
  const openNext = async (opened: readonly StandaloneStore[]): Promise<ExitCode> => {
    const name = names[opened.length];
    if (name === undefined) return start(opened);
    return context.withStore({ notifies: true, options: { store: name } }, async (store, found) =>
      openNext([...opened, { ...storeOptions(store, found), ...describeNamed(name, found) }]),
    );
  };
  return openNext([]);
};

const storeOptions = ({ leasehold, stateAdapter }: OpenedStore, found: FoundConfig | undefined) => ({
  leasehold,
  stateAdapter,
  workerless: workerlessTypeNames(found?.config.jobTypes),
});

const describeNamed = (
  name: string,
  found: FoundConfig | undefined,
): Pick<StandaloneStore, "path" | "environment"> => ({
  path: name,
  environment: { label: name, tone: found?.config.stores?.[name]?.tone ?? "neutral" },
});

/** Serves the page until it is interrupted. */
export const dashboard = async (context: CommandContext, options: DashboardOptions): Promise<ExitCode> => {
  const { output } = context;
  const { port, host, readOnly, basePath, mountPath, allowedHost, label, tone, userHeader } = options;
  const names = await context.storeNames();
  checkLabels(options, names);
  const users = await readUsers(options.tokenFile, context.cwd).catch((error: unknown) => {
    throw refusalOf(error);
  });
  const { startDashboard, isLoopback } = await loadDashboard(context.cwd);
  const server = {
    port,
    host,
    readOnly,
    basePath,
    mountPath,
    allowedHosts: allowedHost,
    users,
    userHeader,
    sessionMs: options.session,
    onNewUrl: (url: string) => output.note(`\nThe session has ended. The next address is\n\n  ${url}\n`),
  };

  const serve = async (shown: string, starting: Promise<StandaloneDashboard>): Promise<ExitCode> => {
    const running = await starting.catch((error: unknown) => {
      throw refusalOf(error);
    });
    try {
      if (userHeader !== undefined && !isLoopback(host))
        output.warn(
          `Everyone who can reach this address can send the header ${userHeader}, and so be any user.`,
          "Listen on 127.0.0.1, or let only the proxy reach this port.",
        );
      if (output.json) output.printJson({ url: running.url });
      else {
        const once =
          users === undefined && userHeader === undefined ? "The address signs in one browser. " : "";
        output.print(`The jobs of ${shown} are shown at\n\n  ${running.url}\n\n${once}Ctrl-C ends it.`);
      }
      if (options.open)
        openInBrowser(running.url, () =>
          output.note("No browser could be started: open the address yourself."),
        );
      await untilInterrupted(
        (signal) =>
          new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })),
      );
    } finally {
      await running.close();
    }
    return exitCodes.done;
  };

  if (names.length > 0)
    return withStores(context, names, (stores) =>
      serve(`${stores.length} stores`, startDashboard({ ...server, stores })),
    );
  const environment = label === undefined ? undefined : { label, tone: tone ?? "neutral" };
  return context.withStore({ notifies: true }, async (store, found) =>
    serve(store.label, startDashboard({ ...server, ...storeOptions(store, found), environment })),
  );
};
