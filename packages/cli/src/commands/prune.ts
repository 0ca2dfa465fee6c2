import { type CommandContext, confirm } from "../command-context.ts";
import { CliError } from "../cli-error.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { formatDuration, plural } from "leasehold/adapter";

export interface PruneOptions {
  readonly olderThan: number;
  readonly status?: readonly string[];
  readonly yes?: boolean;
}

const finished = ["completed", "failed"] as const;

const readStatuses = (given: readonly string[] = ["completed"]): (typeof finished)[number][] => {
  const wrong = given.find((status) => !finished.some((known) => known === status));
  if (wrong === undefined) return finished.filter((status) => given.includes(status));
  throw new CliError("Usage", `--status cannot be "${wrong}".`, {
    hint: "Only finished jobs can be pruned: completed, failed, or both.",
  });
};

/** Removes finished trees, as workers do by themselves where a retention is set. */
export const prune = async (
  context: CommandContext,
  { olderThan, status, yes }: PruneOptions,
): Promise<ExitCode> => {
  const statuses = readStatuses(status);
  return context.withStore({}, async ({ leasehold, label }) => {
    const { output } = context;
    const which = `${statuses.join(" and ")} for more than ${formatDuration(olderThan)}`;
    await confirm(output, `Delete all jobs of ${label} that have been ${which}?`, { yes });
    const { deletedJobs } = await leasehold.pruneJobSequences({ olderThanMs: olderThan, statuses });
    if (output.json) output.printJson({ deletedJobs });
    else output.print(`Deleted ${plural(deletedJobs, "job")}.`);
    return exitCodes.done;
  });
};
