import type { JobCount, JobFilter, JobPage } from "../../contracts/state-adapter.ts";
import type { PagePosition } from "../../model/cursor.ts";
import type { StateJob, StateSequence } from "../../model/job.ts";
import { createHeap } from "../heap.ts";
import type { StoredJob } from "../job-record.ts";
import { matches } from "../job-filter.ts";
import type { StoreView } from "../store-view.ts";

export const getSequence = (view: StoreView, sequenceId: string): StateSequence | undefined => {
  const current = view.current(sequenceId)?.row;
  const first = view.find(sequenceId)?.row;
  return current === undefined || first === undefined ? undefined : { first, current };
};

export const getBlockers = (view: StoreView, jobId: string): StateSequence[] => {
  const sequences: StateSequence[] = [];
  for (const sequenceId of view.find(jobId)?.blockerIds ?? []) {
    const sequence = getSequence(view, sequenceId);
    if (sequence !== undefined) sequences.push(sequence);
  }
  return sequences;
};

/** The jobs a filter could match, without going through all where it names something narrower. */
const candidates = function* (view: StoreView, filter: JobFilter): Iterable<StoredJob> {
  if (filter.ids !== undefined) {
    for (const id of new Set(filter.ids)) {
      const job = view.find(id);
      if (job !== undefined) yield job;
    }
  } else if (filter.sequenceId !== undefined) yield* view.members(filter.sequenceId);
  else if (filter.rootSequenceId !== undefined) yield* view.tree(filter.rootSequenceId);
  else yield* view.jobs();
};

const compareCreation = (a: PagePosition, b: PagePosition): number => {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
};

export interface PageCall {
  readonly limit: number;
  readonly after: PagePosition | null;
}

/** Keeps only one page in hand while it goes through the jobs, however many there are. */
const toPage = (
  jobs: Iterable<StoredJob>,
  order: "oldest" | "newest",
  { limit, after }: PageCall,
): JobPage => {
  const direction = order === "oldest" ? 1 : -1;
  const compare = (a: PagePosition, b: PagePosition): number => direction * compareCreation(a, b);
  // The last of the page on top, to be pushed out by any that comes before it. One more than asked for shows whether
  // there is a next page.
  const page = createHeap<StateJob>((a, b) => compare(a, b) > 0);
  for (const { row } of jobs) {
    if (after !== null && compare(row, after) <= 0) continue;
    page.push(row);
    if (page.size() > limit + 1) page.pop();
  }
  const sorted = [...page.items()].sort(compare);
  const rows = sorted.slice(0, limit);
  const last = rows.at(-1);
  const next =
    sorted.length > rows.length && last !== undefined ? { createdAt: last.createdAt, id: last.id } : null;
  return { jobs: rows, next };
};

function* filtered(view: StoreView, filter: JobFilter): Iterable<StoredJob> {
  for (const job of candidates(view, filter)) if (matches(job.row, filter)) yield job;
}

export const listJobs = (
  view: StoreView,
  call: PageCall & { readonly filter: JobFilter; readonly order: "oldest" | "newest" },
): JobPage => toPage(filtered(view, call.filter), call.order, call);

export const listBlockedJobs = (view: StoreView, call: PageCall & { readonly sequenceId: string }): JobPage =>
  toPage(view.dependants(call.sequenceId), "oldest", call);

export const countJobs = (view: StoreView, filter: JobFilter): JobCount[] => {
  const counts = new Map<string, { -readonly [Key in keyof JobCount]: JobCount[Key] }>();
  for (const { row } of filtered(view, filter)) {
    const { queue, typeName, status } = row;
    const group = `${status} ${queue.length} ${queue}${typeName}`;
    const count = counts.get(group);
    if (count === undefined) counts.set(group, { queue, typeName, status, count: 1 });
    else count.count += 1;
  }
  return [...counts.values()];
};
