import type { AnyJob, AnyJobSequence, JobStatus } from "leasehold";
import { type FilterOptions, toFilter } from "../options/job-choice.ts";
import { type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { renderInspection } from "../output/inspection.ts";
import { renderJobs, renderSequences } from "../output/job-tables.ts";
import { oneLine, shortId } from "../output/text.ts";
import { requireJob, wholeId } from "../store/find-job.ts";
import type { CommandContext } from "./context.ts";

export interface InspectOptions {
  readonly stack: boolean;
}

const mostRelated = 100;

export const inspect = async (
  context: CommandContext,
  id: string,
  { stack }: InspectOptions,
): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold, stateAdapter }) => {
    const { output } = context;
    const job = await requireJob(leasehold, id);
    const explanation = await leasehold.jobs.explain({ id: job.id });
    const sequence = await leasehold.jobs.listInSequence({ id: job.sequenceId, limit: mostRelated });
    const dependants = await leasehold.jobs.listBlocked({ id: job.sequenceId, limit: mostRelated });
    const attempts = stateAdapter.history ? await leasehold.history.listAttempts({ id: job.id }) : null;
    const now = (await leasehold.getTime()).getTime();
    const inspection = {
      job,
      explanation,
      /** The latest first; null where the store keeps none. */
      attempts,
      blockers: job.blockers as readonly AnyJobSequence[],
      sequence: sequence.jobs as readonly AnyJob[],
      dependants: dependants.jobs as readonly AnyJob[],
      /** There are more of these than were read. */
      hasMore: { sequence: sequence.cursor !== null, dependants: dependants.cursor !== null },
    };
    if (output.json) output.printJson(inspection);
    else output.print(renderInspection(output, inspection, { now, stack }));
    return exitCodes.done;
  });

export interface ListOptions extends FilterOptions {
  readonly limit: number;
  readonly after?: string;
  readonly cursor?: string;
  readonly order: "newest" | "oldest";
  readonly inputContains?: string;
}

// Of the line with the command for the next page.
const roomForId = 66;

export const list = async (context: CommandContext, options: ListOptions): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold }) => {
    const { output } = context;
    const { limit, cursor, order, inputContains } = options;
    const whole = async (id: string | undefined): Promise<string | undefined> =>
      id === undefined ? undefined : wholeId(leasehold, id);
    const page = await leasehold.jobs.list({
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

export interface SequencesOptions {
  readonly status?: readonly JobStatus[];
  readonly type?: readonly string[];
  readonly root?: string;
  readonly rootsOnly: boolean;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  readonly limit: number;
  readonly cursor?: string;
  readonly order: "newest" | "oldest";
}

export const sequences = async (context: CommandContext, options: SequencesOptions): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold }) => {
    const { output } = context;
    const { status, type, root, rootsOnly, createdAfter, createdBefore, limit, cursor, order } = options;
    const page = await leasehold.jobs.listSequences({
      status,
      typeName: type,
      rootSequenceId: root === undefined ? undefined : await wholeId(leasehold, root),
      rootsOnly,
      createdFrom: createdAfter,
      createdBefore,
      limit,
      cursor,
      order,
    });
    const listed: readonly AnyJobSequence[] = page.sequences;
    if (output.json) output.printJson(page);
    else if (listed.length === 0 && page.cursor === null) output.note("No sequences.");
    else {
      if (listed.length > 0) output.print(renderSequences(output, listed));
      if (page.cursor !== null) output.note(`\nThere may be more: add --cursor ${page.cursor}`);
    }
    return exitCodes.done;
  });
