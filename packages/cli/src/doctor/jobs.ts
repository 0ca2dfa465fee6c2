import type { AnyJob } from "leasehold";
import { formatCount, formatDuration, plural } from "../output/amounts.ts";
import { oneLine } from "../output/printable.ts";
import { countByQueue } from "../store/job-numbers.ts";
import type { AnyLeasehold, Store } from "../store/store.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

export interface JobCheckOptions {
  /** A runnable job that has waited so long means that nobody serves its queue. */
  readonly stalledMs: number;
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

export const checkLeases = async ({ leasehold, stateAdapter }: Store): Promise<readonly Finding[]> => {
  const now = await stateAdapter.getTime();
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
  { leasehold, stateAdapter }: Store,
  { stalledMs }: JobCheckOptions,
): Promise<readonly Finding[]> => {
  const now = await stateAdapter.getTime();
  const findings: Finding[] = [];
  const waiting = (await countByQueue(leasehold)).filter(({ counts }) => counts.pending > 0);
  for (const { queue, typeName, counts } of waiting) {
    let oldest: number | undefined;
    await eachJob(leasehold, { status: "pending", queue, typeName }, (job) => {
      const due = Math.max(job.scheduledAt.getTime(), job.createdAt.getTime());
      if (due > now) return false;
      oldest = due;
      return true;
    });
    if (oldest === undefined || now - oldest < stalledMs) continue;
    const finished = await leasehold.countJobs({ queue, typeName, finishedFrom: new Date(now - stalledMs) });
    const what = `${plural(counts.pending, "job")} of type ${oneLine(typeName)} in queue ${oneLine(queue)}`;
    const since = formatDuration(now - oldest);
    findings.push(
      counts.running === 0 && finished.length === 0
        ? problem(
            "queues",
            `${what}, runnable for ${since}: nothing of it runs, nothing has finished lately.`,
            "No worker serves this queue and type, or it is a step that a person has to complete. Start a worker, or complete it.",
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

export const checkFailures = async ({ leasehold, stateAdapter }: Store): Promise<readonly Finding[]> => {
  const now = await stateAdapter.getTime();
  const finishedFrom = new Date(now - recentMs);
  const sum = (rows: readonly { readonly count: number }[]): number =>
    rows.reduce((total, { count }) => total + count, 0);
  const failed = sum(await leasehold.countJobs({ status: "failed" }));
  const lately = sum(await leasehold.countJobs({ status: "failed", finishedFrom }));
  if (lately === 0) return [ok("failures", `${plural(failed, "failed job")}, none of the last hour.`)];
  return [
    warning(
      "failures",
      `${plural(lately, "job")} failed in the last hour; ${formatCount(failed)} in all.`,
      "See `leasehold failed list`, and `leasehold failed redrive` when the cause is gone.",
    ),
  ];
};
