import type { CommandContext } from "../command-context.ts";
import type { ExitCode } from "../exit-codes.ts";
import { readChoice, type ReadChoice } from "../options/job-choice.ts";
import { findJobs } from "../store/find-job.ts";
import { eachPageOfJobs } from "../store/job-pages.ts";
import type { AnyLeasehold } from "../store/store.ts";
import { type Chosen, type DeleteChoice, deleteJobs } from "./delete-trees.ts";

const chooseJobs = async (
  leasehold: AnyLeasehold,
  ids: readonly string[],
  { filter, limit }: ReadChoice,
): Promise<Chosen> => {
  if (filter !== undefined) {
    const jobs = [];
    for await (const page of eachPageOfJobs(leasehold, ["failed"], filter, limit)) jobs.push(...page);
    return { jobs, skipped: [] };
  }
  const { jobs, missing } = await findJobs(leasehold, ids);
  const isFailed = ({ status }: (typeof jobs)[number]): boolean => status === "failed";
  return {
    jobs: jobs.filter(isFailed),
    skipped: [
      ...missing.map((id) => ({ id, reason: "not_found" as const })),
      ...jobs.filter((job) => !isFailed(job)).map(({ id }) => ({ id, reason: "not_failed" as const })),
    ],
  };
};

export const deleteFailed = async (
  context: CommandContext,
  ids: readonly string[],
  choice: DeleteChoice,
): Promise<ExitCode> => {
  const read = readChoice(ids, choice);
  return context.withStore({}, async ({ leasehold }) =>
    deleteJobs(context, leasehold, await chooseJobs(leasehold, ids, read), choice),
  );
};
