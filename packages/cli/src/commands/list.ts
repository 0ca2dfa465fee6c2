import type { AnyJob } from "leasehold";
import type { CommandContext } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { renderJobs } from "../output/job-table.ts";
import { type FilterOptions, toFilter } from "../options/job-filter.ts";

export interface ListOptions extends FilterOptions {
  readonly limit: number;
  readonly cursor?: string;
  readonly order: "newest" | "oldest";
}

export const list = async (context: CommandContext, options: ListOptions): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold }) => {
    const { output } = context;
    const { limit, cursor, order } = options;
    const page = await leasehold.listJobs({ ...toFilter(options), limit, cursor, order });
    const jobs: readonly AnyJob[] = page.jobs;
    if (output.json) output.printJson({ jobs, cursor: page.cursor });
    else if (jobs.length === 0) output.note("No jobs.");
    else {
      output.print(renderJobs(output, jobs));
      if (page.cursor !== null) output.note(`\nThere are more: add --cursor ${page.cursor}`);
    }
    return exitCodes.done;
  });
