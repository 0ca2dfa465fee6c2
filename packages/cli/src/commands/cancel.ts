import { type CommandContext, confirm } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { plural } from "../output/amounts.ts";
import { findJob } from "../store/find-job.ts";

export interface CancelOptions {
  readonly reason?: string;
  readonly yes?: boolean;
}

const outcomeTexts = {
  cancelled: "cancelled",
  already_completed: "had completed already",
  already_failed: "had failed already",
  not_found: "does not exist",
} as const;

/** Takes ids of sequences, and of any job in one. */
export const cancel = async (
  context: CommandContext,
  ids: readonly string[],
  { reason, yes }: CancelOptions,
): Promise<ExitCode> =>
  context.withStore({ hints: true }, async ({ leasehold }) => {
    const { output } = context;
    const jobs = await Promise.all(ids.map((id) => findJob(leasehold, id)));
    const sequenceIds = [...new Set(jobs.flatMap((job) => (job === undefined ? [] : [job.sequenceId])))];
    const missing = ids.filter((_id, index) => jobs[index] === undefined);
    if (sequenceIds.length > 0)
      await confirm(output, `Cancel ${plural(sequenceIds.length, "sequence")}?`, yes);
    const cancelled =
      sequenceIds.length === 0 ? [] : await leasehold.cancelJobSequences({ ids: sequenceIds, reason });
    const results = [...cancelled, ...missing.map((id) => ({ id, outcome: "not_found" as const }))];
    if (output.json) output.printJson({ results });
    else for (const { id, outcome } of results) output.print(`${id}  ${outcomeTexts[outcome]}`);
    return results.some(({ outcome }) => outcome === "not_found") ? exitCodes.notFound : exitCodes.done;
  });
