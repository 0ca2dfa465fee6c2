import { LeaseholdError } from "leasehold/adapter";

/** What the command's exit codes mean; docs/cli.md has the same table. */
export const exitCodes = {
  done: 0,
  /** Something went wrong that none of the others names. */
  error: 1,
  /** Arguments, options, input or the config module are wrong. Nothing was done. */
  usage: 2,
  /** There is no such job. */
  notFound: 3,
  /** The store cannot be reached, or its tables are not there or not up to date. */
  store: 4,
  /** The command worked and brings bad news: problems, pending migrations, a failed job. */
  finding: 5,
  /** Confirmation was needed and not given. */
  notConfirmed: 6,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface CliErrorOptions extends ErrorOptions {
  /** What to do next, as a sentence. */
  readonly hint?: string;
  /** Default: `usage`. */
  readonly exitCode?: ExitCode;
}

/** An error that the command reports in its own words, with advice and an exit code. */
export class CliError extends LeaseholdError {
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;
  constructor(code: string, message: string, { hint, exitCode, ...options }: CliErrorOptions = {}) {
    super(code, message, options);
    this.hint = hint;
    this.exitCode = exitCode ?? exitCodes.usage;
  }
}
