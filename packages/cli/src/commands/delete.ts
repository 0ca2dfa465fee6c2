import type { CommandContext } from "../command-context.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findJobs } from "../store/find-job.ts";
import { deleteJobs, type DeleteOptions } from "./delete-trees.ts";

/** Takes ids of sequences, and of any job in one. */
export const deleteById = async (
  context: CommandContext,
  ids: readonly string[],
  options: DeleteOptions,
): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold }) => {
    const { jobs, missing } = await findJobs(leasehold, ids);
    const skipped = missing.map((id) => ({ id, reason: "not_found" as const }));
    return deleteJobs(context, leasehold, { jobs, skipped }, options);
  });
