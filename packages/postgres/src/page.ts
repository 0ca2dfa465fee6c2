import type { JobPage, StateJob } from "leasehold/adapter";

/** A page of jobs, of which one more than `limit` was read to see whether there is a next page. */
export const toPage = (jobs: readonly StateJob[], limit: number): JobPage => {
  const page = jobs.slice(0, limit);
  const last = page.at(-1);
  const next = jobs.length > limit && last !== undefined ? { createdAt: last.createdAt, id: last.id } : null;
  return { jobs: page, next };
};
