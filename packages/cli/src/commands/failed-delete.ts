import type { CommandContext } from "../command-context.ts";
import type { ExitCode } from "../exit-codes.ts";
import { type JobChoice, readChoice, type ReadChoice } from "../options/job-choice.ts";
import { findJobs } from "../store/find-job.ts";
import { eachPageOfFailed } from "../store/failed-jobs.ts";
import type { AnyLeasehold } from "../store/store.ts";
import { type Chosen, deleteJobs } from "./delete-trees.ts";

export interface DeleteChoice extends JobChoice {
  readonly force?: boolean;
}

const chooseJobs = async (
  leasehold: AnyLeasehold,
  ids: readonly string[],
  { filter, limit }: ReadChoice,
): Promise<Chosen> => {
  if (filter !== undefined) {
    const jobs = [];
    for await (const page of eachPageOfFailed(leasehold, filter, limit)) jobs.push(...page);
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
