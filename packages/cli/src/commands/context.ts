import type { FoundConfig } from "../config/load.ts";
import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import type { Output } from "../output/output.ts";
import type { OpenedStore } from "../store/store.ts";

/** What every command takes. */
export interface GlobalOptions {
  readonly store?: string;
  readonly config?: string;
  readonly schema?: string;
  readonly tablePrefix?: string;
  readonly timeout: number;
  readonly json?: boolean;
}

export interface StoreNeeds {
  /** Notify workers at once of what this command starts, revives or cancels. */
  readonly notifies?: boolean;
  /** Make the database if it is not there. */
  readonly create?: boolean;
  /** How many connections a worker needs. Default: few. */
  readonly connections?: number;
  /** In place of the options of the same names. */
  readonly options?: Partial<GlobalOptions>;
  /** Refuse a store whose tables are missing or old. Default: true. */
  readonly migrated?: boolean;
}

/** What every command gets. */
export interface CommandContext {
  readonly output: Output;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The stores that the config module names, if none of them was chosen. */
  storeNames(): Promise<readonly string[]>;
  /** Opens the store, and closes it when the callback is done. */
  withStore<T>(
    needs: StoreNeeds,
    callback: (store: OpenedStore, found: FoundConfig | undefined) => Promise<T>,
  ): Promise<T>;
}

/** The user answered no, which is not an error. */
export class DeclinedError extends Error {}

export interface Question {
  readonly yes?: boolean | undefined;
  /** Left out by commands that have no dry run. */
  readonly dryRun?: boolean;
}

/** Asks before an irreversible action; without a terminal, `--yes` is required. */
export const confirm = async (
  { isInteractive }: Output,
  question: string,
  { yes, dryRun }: Question,
): Promise<void> => {
  if (yes === true) return;
  if (!isInteractive) {
    throw new CliError("NotConfirmed", "This changes jobs, and there is no terminal to confirm it.", {
      exitCode: exitCodes.notConfirmed,
      hint: dryRun === undefined ? "Pass --yes." : "Pass --yes, or --dry-run to see what would happen.",
    });
  }
  const prompts = await import("@clack/prompts");
  const answer = await prompts.confirm({ message: question, initialValue: false, output: process.stderr });
  if (answer !== true) throw new DeclinedError();
};

/** Runs a command's work. What it needs is loaded only then, so that help and completion are quick. */
export type Run = (work: (context: CommandContext) => Promise<ExitCode>) => Promise<void>;
