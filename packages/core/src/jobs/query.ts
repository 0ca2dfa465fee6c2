import { InvalidOptionError } from "../base/errors.ts";
import { requireBoolean, requireId, requireName } from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { encodeCursor, fillPage, pageOptions, parseOrder, parsePage } from "../engine/pages.ts";
import { requireTypeName } from "../job-types/registry.ts";
import type { StateJob, StateSequence } from "../store/contract/job.ts";
import type { JobFilter, JobPage, PagePosition } from "../store/contract/reads.ts";
import { JobNotFoundError } from "../store/errors.ts";
import type { JobCountRow, JobListing, JobSequenceListing } from "./api/query.ts";
import {
  jobFilterOptions,
  listedBy,
  parseInputSearch,
  parseJobFilter,
  parseJobFilterFor,
  pickJobFilter,
} from "./filter.ts";
import { type JobView, type SequenceView, viewFields, viewJobs, viewSequence } from "./view.ts";

const listOptions = {
  ...pageOptions,
  typeName: true,
  status: true,
  rootsOnly: true,
  rootSequenceId: true,
  createdFrom: true,
  createdBefore: true,
  order: true,
} as const;

/** Which job stands for a sequence in a listing, how the store finds it, and which of those found are kept. */
interface Selection {
  readonly by: "first" | "current";
  readonly filter: JobFilter;
  readonly keeps: (job: StateJob) => boolean;
}

/**
 * Without a status, sequences are found by their first jobs. The status of a sequence is that of its current job, so with
 * one they are found by that: the index of failed jobs then leads straight to failed sequences.
 */
const selectSequences = (options: Record<string, unknown>): Selection => {
  const { typeNames, statuses, createdBefore, ...rest } = parseJobFilter(pickJobFilter(options));
  const isRootsOnly = options["rootsOnly"] !== undefined && requireBoolean(options["rootsOnly"], "rootsOnly");
  const filter = { ...rest, sequenceTypeNames: typeNames };
  if (statuses === undefined) {
    const firstOf = isRootsOnly ? "tree" : "sequence";
    return { by: "first", filter: { ...filter, createdBefore, firstOf }, keeps: listedBy(filter) };
  }
  const { createdFrom = -Infinity } = filter;
  const isListed = listedBy(filter);
  return {
    by: "current",
    // No job is older than its sequence, so `createdFrom` holds for it, too; `createdBefore` need not.
    filter: { ...filter, statuses },
    keeps: (job) =>
      job.continuedToId === null &&
      (!isRootsOnly || job.sequenceId === job.rootSequenceId) &&
      job.sequenceCreatedAt >= createdFrom &&
      job.sequenceCreatedAt < (createdBefore ?? Infinity) &&
      isListed(job),
  };
};

export const listJobSequences = (
  engine: Engine,
  passed: unknown = {},
): Promise<JobSequenceListing<SequenceView>> =>
  operation(engine, "jobs.listSequences", passed, { options: listOptions }, async ({ options, ctx }) => {
    const order = parseOrder(options["order"]);
    const { by, filter, keeps } = selectSequences(options);
    const kind = `sequences-${by}-${order}`;
    const { limit, after } = parsePage(kind, options);
    const look = async (most: number, from: PagePosition | null): Promise<JobPage> => {
      const page = await engine.store.listJobs({
        ctx,
        mayLag: true,
        filter,
        order,
        limit: most,
        after: from,
      });
      return { ...page, jobs: page.jobs.filter(keeps) };
    };
    const { jobs, next } = await fillPage({ limit, start: after, clock: engine.runtime.clock, look });
    const sequenceIds = jobs.map(({ sequenceId }) => sequenceId);
    const found =
      sequenceIds.length === 0 ? [] : await engine.store.getSequences({ ctx, mayLag: true, sequenceIds });
    const sequences = jobs.flatMap((job, index): StateSequence[] => {
      const sequence = found[index];
      // It may have been deleted or continued since it was listed.
      return sequence === undefined ? [] : [{ ...sequence, [by]: job }];
    });
    return {
      sequences: sequences.map((sequence) => viewSequence(engine, sequence)),
      cursor: next && encodeCursor(kind, next),
    };
  });

const listOptionsQueries = {
  ...pageOptions,
  ...jobFilterOptions,
  order: true,
  after: true,
  input: true,
} as const;

const pageOfViewOptions = { ...viewFields, ...pageOptions } as const;

const viewPage = async (
  engine: Engine,
  ctx: object | undefined,
  kind: string,
  page: JobPage,
): Promise<JobListing<JobView>> => ({
  jobs: await viewJobs(engine, ctx, page.jobs),
  cursor: page.next && encodeCursor(kind, page.next),
});

const checkType = (expected: unknown, actual: string): void => {
  if (expected !== undefined) requireTypeName(requireName(expected, "typeName"), actual, "id");
};

export const readJob = async (
  engine: Engine,
  ctx: object | undefined,
  id: string,
): Promise<StateJob | undefined> => {
  const [job] = await engine.store.getJobs({ ctx, jobIds: [id] });
  return job;
};

export const getJob = (engine: Engine, passed: unknown): Promise<JobView | undefined> =>
  operation(engine, "jobs.get", passed, { options: viewFields }, async ({ options, ctx }) => {
    const job = await readJob(engine, ctx, requireId(options["id"], "id"));
    if (!job) return undefined;
    checkType(options["typeName"], job.typeName);
    const [view] = await viewJobs(engine, ctx, [job]);
    return view;
  });

export const getJobSequence = (engine: Engine, passed: unknown): Promise<SequenceView | undefined> =>
  operation(engine, "jobs.getSequence", passed, { options: viewFields }, async ({ options, ctx }) => {
    const [sequence] = await engine.store.getSequences({
      ctx,
      sequenceIds: [requireId(options["id"], "id")],
    });
    if (!sequence) return undefined;
    checkType(options["typeName"], sequence.first.typeName);
    return viewSequence(engine, sequence);
  });

/** The place of the job that `after` names: a cursor that people can write. */
const findPosition = async (
  engine: Engine,
  ctx: object | undefined,
  { after, cursor }: Record<string, unknown>,
): Promise<PagePosition | null> => {
  if (after === undefined) return null;
  if (cursor !== undefined && cursor !== null) {
    throw new InvalidOptionError("after", "and `cursor` exclude each other", after);
  }
  const id = requireId(after, "after");
  const job = await readJob(engine, ctx, id);
  if (!job) throw new JobNotFoundError(id);
  return { createdAt: job.createdAt, id: job.id };
};

// Inputs of a codec that no store can read are decoded here, in portions.
const decodedAtOnce = 500;

const mostDecodings = 10;

/** A page of what is found in the next portion. Where more is found than was asked for, the next page begins with the rest. */
const lookInside = async (
  look: (most: number, from: PagePosition | null) => Promise<JobPage>,
  most: number,
  from: PagePosition | null,
): Promise<JobPage> => {
  const { jobs, next } = await look(decodedAtOnce, from);
  const last = jobs[most - 1];
  return jobs.length <= most || last === undefined
    ? { jobs, next }
    : { jobs: jobs.slice(0, most), next: { createdAt: last.createdAt, id: last.id } };
};

/** A job that finished before a time was created before it. Stores find jobs by creation with an index. */
const boundCreation = (filter: JobFilter): JobFilter => {
  const { finishedBefore, createdBefore = Infinity } = filter;
  return finishedBefore === undefined || createdBefore <= finishedBefore
    ? filter
    : { ...filter, createdBefore: finishedBefore };
};

export const listJobs = (engine: Engine, passed: unknown = {}): Promise<JobListing<JobView>> =>
  operation(engine, "jobs.list", passed, { options: listOptionsQueries }, async ({ options, ctx }) => {
    const order = parseOrder(options["order"]);
    const kind = `jobs-${order}`;
    const search = parseInputSearch(engine.codec, options["input"]);
    const filter = boundCreation({
      ...parseJobFilterFor(engine.store, "jobs.list", pickJobFilter(options)),
      ...(search?.text !== undefined && { inputContains: search.text }),
    });
    const { limit, after } = parsePage(kind, options);
    const start = (await findPosition(engine, ctx, options)) ?? after;
    const { clock } = engine.runtime;
    const isListed = listedBy(filter);
    const look = async (most: number, from: PagePosition | null): Promise<JobPage> => {
      const page = await engine.store.listJobs({
        ctx,
        mayLag: true,
        filter,
        order,
        limit: most,
        after: from,
      });
      return {
        ...page,
        jobs: page.jobs.filter((job) => isListed(job) && search?.matches(job.input) !== false),
      };
    };
    const page =
      search !== undefined && search.text === undefined
        ? await fillPage({
            limit,
            start,
            clock,
            most: mostDecodings,
            look: (most, from) => lookInside(look, most, from),
          })
        : await fillPage({ limit, start, clock, look });
    const searchedTo = page.next && new Date(page.next.createdAt);
    return { ...(await viewPage(engine, ctx, kind, page)), searchedTo };
  });

/** The jobs of one sequence in the order they ran. */
export const listSequenceJobs = (engine: Engine, passed: unknown): Promise<JobListing<JobView>> =>
  operation(
    engine,
    "jobs.listInSequence",
    passed,
    { options: pageOfViewOptions },
    async ({ options, ctx }) => {
      const filter = { sequenceId: requireId(options["id"], "id") };
      const page = await engine.store.listJobs({
        ctx,
        mayLag: true,
        filter,
        order: "oldest",
        ...parsePage("sequence-jobs", options),
      });
      if (page.jobs.length > 0) checkType(options["typeName"], page.jobs[0]!.sequenceTypeName);
      // Jobs created in the same moment come by id, which callers may choose.
      const jobs = [...page.jobs].sort((a, b) => a.sequenceIndex - b.sequenceIndex);
      return viewPage(engine, ctx, "sequence-jobs", { ...page, jobs });
    },
  );

export const listBlockers = (engine: Engine, passed: unknown): Promise<SequenceView[]> =>
  operation(engine, "jobs.listBlockers", passed, { options: viewFields }, async ({ options, ctx }) => {
    const id = requireId(options["id"], "id");
    const { typeName } = options;
    const job = typeName === undefined ? undefined : await readJob(engine, ctx, id);
    if (job) checkType(typeName, job.typeName);
    const [blockers] = await engine.store.getBlockers({ ctx, jobIds: [id] });
    return blockers!.map((sequence) => viewSequence(engine, sequence));
  });

export const listBlockedJobs = (engine: Engine, passed: unknown): Promise<JobListing<JobView>> =>
  operation(engine, "jobs.listBlocked", passed, { options: pageOfViewOptions }, async ({ options, ctx }) => {
    const sequenceId = requireId(options["id"], "id");
    const { typeName } = options;
    // The first job of a sequence has its id and type.
    const first = typeName === undefined ? undefined : await readJob(engine, ctx, sequenceId);
    if (first) checkType(typeName, first.typeName);
    const page = await engine.store.listBlockedJobs({
      ctx,
      sequenceId,
      ...parsePage("blocked-jobs", options),
    });
    return viewPage(engine, ctx, "blocked-jobs", page);
  });

export const countJobs = (engine: Engine, passed: unknown = {}): Promise<readonly JobCountRow<string>[]> =>
  operation(engine, "jobs.count", passed, { options: jobFilterOptions }, async ({ options, ctx }) => {
    const filter = parseJobFilterFor(engine.store, "jobs.count", pickJobFilter(options));
    return (await engine.store.countJobs({ ctx, mayLag: true, filter })).filter(listedBy(filter));
  });

export const getTime = (engine: Engine, passed: unknown = {}): Promise<Date> =>
  operation(engine, "getTime", passed, { options: {} }, async ({ ctx }) => {
    return new Date(await engine.store.getTime({ ctx }));
  });
