import type { AnyJob } from "leasehold";
import type { CommandContext } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { renderJobs } from "../output/job-table.ts";
import { oneLine, shortId } from "../output/printable.ts";
import { wholeId } from "../store/find-job.ts";
import { type FilterOptions, toFilter } from "../options/job-filter.ts";

export interface ListOptions extends FilterOptions {
  readonly limit: number;
  readonly after?: string;
  readonly cursor?: string;
  readonly order: "newest" | "oldest";
  readonly inputContains?: string;
}

// Of the line that says how to go on.
const roomForId = 66;

export const list = async (context: CommandContext, options: ListOptions): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold }) => {
    const { output } = context;
    const { limit, cursor, order, inputContains } = options;
    const whole = async (id: string | undefined): Promise<string | undefined> =>
      id === undefined ? undefined : wholeId(leasehold, id);
    const page = await leasehold.listJobs({
      ...toFilter(options),
      ...(options.sequence === undefined ? {} : { sequenceId: await whole(options.sequence) }),
      ...(options.root === undefined ? {} : { rootSequenceId: await whole(options.root) }),
      ...(inputContains === undefined ? {} : { input: { contains: inputContains } }),
      limit,
      cursor,
      after: await whole(options.after),
      order,
    });
    const jobs: readonly AnyJob[] = page.jobs;
    if (output.json) output.printJson({ jobs, cursor: page.cursor });
    else if (jobs.length === 0 && page.cursor === null) output.note("No jobs.");
    else {
      if (jobs.length > 0) output.print(renderJobs(output, jobs));
      if (page.cursor !== null && jobs.length < limit) {
        // The store has looked at as many jobs as it does at a time.
        output.note(`\nThere may be more, further on: add --cursor ${page.cursor}`);
      } else if (page.cursor !== null) {
        const last = oneLine(jobs.at(-1)!.id);
        output.note(`\nThere are more: add --after ${output.columns < roomForId ? shortId(last) : last}`);
      }
    }
    return exitCodes.done;
  });
