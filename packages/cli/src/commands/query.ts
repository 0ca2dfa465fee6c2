import { type AnyJob, type AnyJobSequence, type JobStatus, shortId } from "leasehold";
import { type FilterOptions, toFilter } from "../options/job-choice.ts";
import { type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { renderInspection } from "../output/inspection.ts";
import { renderJobs, renderSequences } from "../output/job-tables.ts";
import { oneLine } from "../output/text.ts";
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

interface Page<T> {
  readonly items: readonly T[];
  readonly cursor: string | null;
}

const searchMs = 2_000;

/**
 * Reads pages until there are `limit` items, for up to two seconds: the store reads a limited number of jobs for a page, of
 * which few may match. Without any item it reads on to the end.
 */
const fillPage = async <T>(
  limit: number,
  readPage: (limit: number, cursor: string | undefined) => Promise<Page<T>>,
): Promise<Page<T>> => {
  const startedAt = performance.now();
  const items: T[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await readPage(limit - items.length, cursor);
    items.push(...page.items);
    const isTimeUp = items.length > 0 && performance.now() - startedAt >= searchMs;
    if (page.cursor === null || items.length >= limit || isTimeUp) return { items, cursor: page.cursor };
    cursor = page.cursor;
  }
};

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
    const filter = {
      ...toFilter(options),
      ...(options.sequence === undefined ? {} : { sequenceId: await whole(options.sequence) }),
      ...(options.root === undefined ? {} : { rootSequenceId: await whole(options.root) }),
      ...(inputContains === undefined ? {} : { input: { contains: inputContains } }),
      order,
    };
    const after = await whole(options.after);
    const page = await fillPage<AnyJob>(limit, async (left, from) => {
      const place = from === undefined ? { cursor, after } : { cursor: from };
      const { jobs: items, cursor: next } = await leasehold.jobs.list({ ...filter, ...place, limit: left });
      return { items, cursor: next };
    });
    const jobs = page.items;
    if (output.json) output.printJson({ jobs, cursor: page.cursor });
    else if (jobs.length === 0) output.note("No jobs.");
    else {
      output.print(renderJobs(output, jobs));
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
    const rootSequenceId = root === undefined ? undefined : await wholeId(leasehold, root);
    const page = await fillPage<AnyJobSequence>(limit, async (left, from) => {
      const { sequences: items, cursor: next } = await leasehold.jobs.listSequences({
        status,
        typeName: type,
        rootSequenceId,
        rootsOnly,
        createdFrom: createdAfter,
        createdBefore,
        limit: left,
        cursor: from ?? cursor,
        order,
      });
      return { items, cursor: next };
    });
    const listed = page.items;
    if (output.json) output.printJson({ sequences: listed, cursor: page.cursor });
    else if (listed.length === 0) output.note("No sequences.");
    else {
      output.print(renderSequences(output, listed));
      if (page.cursor !== null) output.note(`\nThere may be more: add --cursor ${page.cursor}`);
    }
    return exitCodes.done;
  });
