import type { JobSequenceListing } from "../api/queries.ts";
import type { JobFilter, JobPage } from "../contracts/state-adapter.ts";
import { encodeCursor, type PagePosition } from "../model/cursor.ts";
import type { StateJob, StateSequence } from "../model/job.ts";
import { requireBoolean, requirePlainObject } from "../model/option-checks.ts";
import type { Engine } from "./engine.ts";
import { parseJobFilter, pickJobFilter } from "./job-filter.ts";
import { fillPage, pageOptions, parseOrder, parsePage } from "./pages.ts";
import { resolveTransaction } from "./transaction.ts";
import { type SequenceView, viewSequence } from "./view.ts";

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
    return { by: "first", filter: { ...filter, createdBefore, firstOf }, keeps: () => true };
  }
  const { createdFrom = -Infinity } = filter;
  return {
    by: "current",
    // No job is older than its sequence, so `createdFrom` holds for it, too; `createdBefore` need not.
    filter: { ...filter, statuses },
    keeps: ({ continuedToId, sequenceId, rootSequenceId, sequenceCreatedAt }) =>
      continuedToId === null &&
      (!isRootsOnly || sequenceId === rootSequenceId) &&
      sequenceCreatedAt >= createdFrom &&
      sequenceCreatedAt < (createdBefore ?? Infinity),
  };
};

export const listJobSequences = async (
  engine: Engine,
  passed: unknown = {},
): Promise<JobSequenceListing<SequenceView>> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "listJobSequences", options, listOptions);
  const order = parseOrder(options["order"]);
  const { by, filter, keeps } = selectSequences(options);
  const kind = `sequences-${by}-${order}`;
  const { limit, after } = parsePage(kind, options);
  const look = async (most: number, from: PagePosition | null): Promise<JobPage> => {
    const page = await engine.store.listJobs({ ctx, mayLag: true, filter, order, limit: most, after: from });
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
};
