import type { CommandContext } from "../command-context.ts";
import type { ExitCode } from "../exit-codes.ts";

/** Runs a command's work. What it needs is loaded only then, so that help and completion are quick. */
export type Run = (work: (context: CommandContext) => Promise<ExitCode>) => Promise<void>;
