import { type CommandContext, confirm } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { plural } from "leasehold/adapter";
import { type JobChoice, readChoice } from "../options/job-choice.ts";
import { findJobs } from "../store/find-job.ts";
import { eachPageOfJobs } from "../store/job-pages.ts";
import type { AnyLeasehold } from "../store/store.ts";

export interface CancelChoice extends Omit<JobChoice, "reason"> {
  readonly reason?: string;
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

const batchSize = 500;

const inBatches = async (
  ids: readonly string[],
  work: (batch: readonly string[]) => Promise<readonly Outcome[]>,
): Promise<readonly Outcome[]> => {
  const outcomes: Outcome[] = [];
  for (let start = 0; start < ids.length; start += batchSize)
    outcomes.push(...(await work(ids.slice(start, start + batchSize))));
  return outcomes;
};

/** Takes ids of sequences, and of any job in one, or a filter of jobs that are not finished. */
export const cancel = async (
  context: CommandContext,
  ids: readonly string[],
  { reason, ...choice }: CancelChoice,
): Promise<ExitCode> => {
  const { filter, limit } = readChoice(ids, choice);
  const { dryRun, yes } = choice;
  return context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const { jobs, missing } = await findJobs(leasehold, ids);
    const chosen = new Set(jobs.map((job) => job.sequenceId));
    if (filter !== undefined)
      for await (const page of eachPageOfJobs(leasehold, ["blocked", "pending", "running"], filter, limit))
        for (const job of page) chosen.add(job.sequenceId);
    const sequenceIds = [...chosen];
    const cancelAll = async (): Promise<readonly Outcome[]> => {
      if (sequenceIds.length === 0) return [];
      if (dryRun)
        return inBatches(sequenceIds, (batch) => Promise.all(batch.map((id) => foresee(leasehold, id))));
      await confirm(output, `Cancel ${plural(sequenceIds.length, "sequence")}?`, { yes, dryRun });
      return inBatches(sequenceIds, (batch) => leasehold.cancelJobSequences({ ids: batch, reason }));
    };
    const results = [...(await cancelAll()), ...missing.map((id) => ({ id, outcome: "not_found" as const }))];
    if (output.json) output.printJson({ dryRun, results });
    else if (results.length === 0) output.note("No jobs.");
    else for (const { id, outcome } of results) output.print(`${id}  ${outcomeTexts[outcome]}`);
    return results.some(({ outcome }) => outcome === "not_found") ? exitCodes.notFound : exitCodes.done;
  });
};
