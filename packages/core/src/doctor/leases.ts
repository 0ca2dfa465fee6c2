import type { Finding } from "../contracts/state-adapter.ts";
import type { PagePosition } from "../model/cursor.ts";
import { formatCount, formatDuration } from "../model/amounts.ts";
import type { StateJob } from "../model/job.ts";
import { finding } from "../rules/findings.ts";
import { countCap, type Facts } from "./facts.ts";
import { onOneLine } from "./on-one-line.ts";

// Reapers look every few seconds; a lease that ended long before means that no worker is alive.
const stuckAfterMs = 60_000;
const pageSize = 500;

/**
 * Running jobs whose worker is gone, and that nobody has taken over. Most often one number tells that there are none. Looks at so
 * many pages of 500 running jobs, the oldest first.
 */
export const findStuckJobs = async (facts: Facts, mostPages = 20): Promise<StateJob[]> => {
  if ((await facts.backlog()).every(({ expired }) => expired === 0)) return [];
  const now = await facts.now();
  const stuck: StateJob[] = [];
  let after: PagePosition | null = null;
  for (let page = 0; page < mostPages; page += 1) {
    const listing: Awaited<ReturnType<Facts["store"]["listJobs"]>> = await facts.store.listJobs({
      filter: { statuses: ["running"] },
      order: "oldest",
      limit: pageSize,
      after,
    });
    stuck.push(...listing.jobs.filter(({ leasedUntil }) => leasedUntil! < now - stuckAfterMs));
    if (listing.next === null) break;
    after = listing.next;
  }
  return stuck;
};

const jobs = (count: number, isMore = false): string =>
  `${formatCount(count)}${isMore ? "+" : ""} running ${count === 1 ? "job" : "jobs"}`;

export const checkLeases = async (facts: Facts): Promise<readonly Finding[]> => {
  const stuck = await findStuckJobs(facts);
  const [first] = stuck;
  if (first === undefined) {
    const backlog = await facts.backlog();
    const running = backlog.reduce((sum, type) => sum + type.running, 0);
    const isMore = backlog.some((type) => type.running >= countCap);
    return [finding.ok("leases", `${jobs(running, isMore)}, none with a lease long gone.`)];
  }
  return [
    finding.problem(
      "leases",
      `${jobs(stuck.length)} whose lease ran out more than ${formatDuration(stuckAfterMs)} ago, such as ${first.id} (${onOneLine(first.typeName)}).`,
      "Their worker is gone and no other has taken over: start a worker that serves their queues and types.",
    ),
  ];
};
