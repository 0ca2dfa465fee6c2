import type { AnyJob } from "leasehold";
import { formatCount, formatDuration, plural } from "../output/amounts.ts";
import { oneLine } from "../output/printable.ts";
import {
  countByQueue,
  formatNumber,
  queueTypeKey,
  readBacklog,
  readRecent,
  sumNumbers,
} from "../store/job-numbers.ts";
import type { AnyLeasehold, OpenedStore } from "../store/store.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

export interface JobCheckOptions {
  /** A runnable job that has waited so long means that nobody serves its queue. */
  readonly stalledMs: number;
  /** Types that are completed from outside: nobody is missing there, however long they wait. */
  readonly workerless?: ReadonlySet<string>;
}

// Reapers look every few seconds; a lease that ended long before means that no worker is alive.
const stuckAfterMs = 60_000;
const pageSize = 500;
const mostPages = 20;
const recentMs = 3_600_000;

/** Oldest first, until the callback has seen enough. */
const eachJob = async (
  leasehold: AnyLeasehold,
  filter: Parameters<AnyLeasehold["listJobs"]>[0],
  look: (job: AnyJob) => boolean,
): Promise<void> => {
  let cursor: string | null = null;
  for (let page = 0; page < mostPages; page += 1) {
    const listing: Awaited<ReturnType<AnyLeasehold["listJobs"]>> = await leasehold.listJobs({
      ...filter,
      order: "oldest",
      limit: pageSize,
      cursor,
    });
    if (listing.jobs.some(look) || listing.cursor === null) return;
    cursor = listing.cursor;
  }
};

export const checkLeases = async ({ leasehold }: OpenedStore): Promise<readonly Finding[]> => {
  const now = (await leasehold.getTime()).getTime();
  let running = 0;
  const stuck: AnyJob[] = [];
  await eachJob(leasehold, { status: "running" }, (job) => {
    running += 1;
    if (job.status === "running" && job.leasedUntil.getTime() < now - stuckAfterMs) stuck.push(job);
    return false;
  });
  if (stuck.length === 0)
    return [ok("leases", `${plural(running, "running job")}, none with a lease long gone.`)];
  const [first] = stuck;
  return [
    problem(
      "leases",
      `${plural(stuck.length, "running job")} whose lease ran out more than ${formatDuration(stuckAfterMs)} ago, such as ${first!.id} (${oneLine(first!.typeName)}).`,
      "Their worker is gone and no other has taken over: start a worker that serves their queues and types.",
    ),
  ];
};

export const checkQueues = async (
  { leasehold, stateAdapter }: OpenedStore,
  { stalledMs, workerless }: JobCheckOptions,
): Promise<readonly Finding[]> => {
  const now = (await leasehold.getTime()).getTime();
  const findings: Finding[] = [];
  const recent = await readRecent(stateAdapter, { from: now - stalledMs });
  const served = new Set(recent.jobs.map(queueTypeKey));
  for (const backlog of await readBacklog(stateAdapter, {})) {
    const { queue, typeName, oldestRunnableAt: oldest, running } = backlog;
    if (oldest === null || now - oldest < stalledMs || workerless?.has(typeName) === true) continue;
    const [row] = countByQueue([backlog], []);
    const count = formatNumber(row!, "pending");
    const what = `${count} ${count === "1" ? "job" : "jobs"} of type ${oneLine(typeName)} in queue ${oneLine(queue)}`;
    const since = formatDuration(now - oldest);
    findings.push(
      running === 0 && !served.has(queueTypeKey(backlog))
        ? problem(
            "queues",
            `${what}, runnable for ${since}: nothing of it runs, nothing has finished lately.`,
            "No worker serves this queue and type: start one. If its jobs are completed by a person or another program, set `workerless: true` on the type in the config module's jobTypes.",
          )
        : warning(
            "queues",
            `${what}, the oldest runnable for ${since}.`,
            "Workers are behind: raise their concurrency, or start more of them.",
          ),
    );
  }
  return findings.length > 0 ? findings : [ok("queues", "No queue has jobs that wait for long.")];
};

export const checkFailures = async ({
  leasehold,
  stateAdapter,
}: OpenedStore): Promise<readonly Finding[]> => {
  const now = (await leasehold.getTime()).getTime();
  const total = sumNumbers(countByQueue(await readBacklog(stateAdapter, {}), []));
  const failed = formatNumber(total, "failed");
  const { jobs } = await leasehold.listJobs({ status: "failed", limit: pageSize });
  const recent = jobs.filter((job) => job.status === "failed" && job.failure.at.getTime() >= now - recentMs);
  if (recent.length === 0) return [ok("failures", `${failed} failed jobs, none of the last hour.`)];
  const lately = `${formatCount(recent.length)}${recent.length === pageSize ? "+" : ""}`;
  return [
    warning(
      "failures",
      `${lately} ${lately === "1" ? "job" : "jobs"} failed in the last hour; ${failed} in all.`,
      "See `leasehold failed list`, and `leasehold failed redrive` when the cause is gone.",
    ),
  ];
};

// From here on lists, backups and the disk feel it.
const manyJobs = 1_000_000;

/** Whether somebody has forgotten to say how long finished jobs are kept. */
export const checkRetention = async ({ database, leasehold }: OpenedStore): Promise<readonly Finding[]> => {
  if (database === undefined) return [];
  const kept = await database.estimateJobs(manyJobs + 1);
  const count = kept > manyJobs ? `More than ${formatCount(manyJobs)}` : `About ${formatCount(kept)}`;
  const [oldest] = (await leasehold.listJobs({ order: "oldest", limit: 1 })).jobs;
  const since =
    oldest === undefined ? "" : `, the oldest from ${oldest.createdAt.toISOString().slice(0, 10)}`;
  if (kept <= manyJobs) return [ok("retention", `${count} jobs are kept${since}.`)];
  return [
    warning(
      "retention",
      `${count} jobs are kept${since}.`,
      "Say how long to keep finished ones, with `defaults: { retention }` of createLeasehold or per job type, or remove them with `leasehold prune`.",
    ),
  ];
};
