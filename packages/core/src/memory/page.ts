import type { JobPage, ListJobsCall } from "../store/contract/reads.ts";
import type { PagePosition } from "../store/contract/reads.ts";
import type { StateJob } from "../store/contract/job.ts";
import { createHeap } from "./heap.ts";
import type { StoredJob } from "./job-record.ts";

const compareCreation = (a: PagePosition, b: PagePosition): number => {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
};

/** Keeps only one page in hand while it goes through the jobs, however many there are. */
export const toPage = (
  jobs: Iterable<StoredJob>,
  order: "oldest" | "newest",
  { limit, after }: Pick<ListJobsCall, "limit" | "after">,
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
