import { type CommandContext, confirm } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { plural } from "../output/amounts.ts";
import { findJobs } from "../store/find-job.ts";
import type { AnyLeasehold } from "../store/store.ts";

export interface CancelOptions {
  readonly reason?: string;
  readonly dryRun: boolean;
  readonly yes?: boolean;
}

const outcomeTexts = {
  cancelled: "cancelled",
  would_cancel: "would be cancelled",
  already_completed: "had completed already",
  already_failed: "had failed already",
  not_found: "does not exist",
} as const;

interface Outcome {
  readonly id: string;
  readonly outcome: keyof typeof outcomeTexts;
}

const foresee = async (leasehold: AnyLeasehold, id: string): Promise<Outcome> => {
  const status = (await leasehold.getJobSequence({ id }))?.status;
  if (status === undefined) return { id, outcome: "not_found" };
  return {
    id,
    outcome:
      status === "completed" ? "already_completed" : status === "failed" ? "already_failed" : "would_cancel",
  };
};

/** Takes ids of sequences, and of any job in one. */
export const cancel = async (
  context: CommandContext,
  ids: readonly string[],
  { reason, dryRun, yes }: CancelOptions,
): Promise<ExitCode> =>
  context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const { jobs, missing } = await findJobs(leasehold, ids);
    const sequenceIds = [...new Set(jobs.map((job) => job.sequenceId))];
    const cancelAll = async (): Promise<readonly Outcome[]> => {
      if (sequenceIds.length === 0) return [];
      if (dryRun) return Promise.all(sequenceIds.map((id) => foresee(leasehold, id)));
      await confirm(output, `Cancel ${plural(sequenceIds.length, "sequence")}?`, { yes, dryRun });
      return leasehold.cancelJobSequences({ ids: sequenceIds, reason });
    };
    const results = [...(await cancelAll()), ...missing.map((id) => ({ id, outcome: "not_found" as const }))];
    if (output.json) output.printJson({ dryRun, results });
    else for (const { id, outcome } of results) output.print(`${id}  ${outcomeTexts[outcome]}`);
    return results.some(({ outcome }) => outcome === "not_found") ? exitCodes.notFound : exitCodes.done;
  });
