import { LeaseholdError } from "leasehold/adapter";
import { type ExitCode, exitCodes } from "./exit-codes.ts";

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
