import type { AnyJob, JobStatus } from "leasehold";
import type { JobFilter } from "../options/job-choice.ts";
import type { AnyLeasehold } from "./store.ts";

const pageSize = 1_000;

/** Jobs in these statuses, the oldest first. What is changed or deleted meanwhile does not disturb the order. */
export const eachPageOfJobs = async function* (
  leasehold: AnyLeasehold,
  status: readonly JobStatus[],
  filter: Omit<JobFilter, "status">,
  limit: number = Infinity,
): AsyncGenerator<readonly AnyJob[]> {
  let cursor: string | null = null;
  let left = limit;
  do {
    const page: Awaited<ReturnType<AnyLeasehold["jobs"]["list"]>> = await leasehold.jobs.list({
      ...filter,
      status,
      order: "oldest",
      limit: Math.min(pageSize, left),
      cursor,
    });
    left -= page.jobs.length;
    cursor = page.cursor;
    yield page.jobs;
  } while (cursor !== null && left > 0);
};
