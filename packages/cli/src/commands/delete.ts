import type { AnyJob } from "leasehold";
import type { CommandContext } from "../command-context.ts";
import type { ExitCode } from "../exit-codes.ts";
import { readChoice } from "../options/job-choice.ts";
import { findJobs } from "../store/find-job.ts";
import { eachPageOfJobs } from "../store/job-pages.ts";
import { type DeleteChoice, deleteJobs } from "./delete-trees.ts";

/** Takes ids of sequences, and of any job in one, or a filter of finished jobs. */
export const deleteFinished = async (
  context: CommandContext,
  ids: readonly string[],
  choice: DeleteChoice,
): Promise<ExitCode> => {
  const { filter, limit } = readChoice(ids, choice);
  return context.withStore({}, async ({ leasehold }) => {
    const { jobs: named, missing } = await findJobs(leasehold, ids);
    const jobs: AnyJob[] = [...named];
    if (filter !== undefined)
      for await (const page of eachPageOfJobs(leasehold, ["completed", "failed"], filter, limit))
        jobs.push(...page);
    const skipped = missing.map((id) => ({ id, reason: "not_found" as const }));
    return deleteJobs(context, leasehold, { jobs, skipped }, choice);
  });
};
