import type { AnyStateAdapter } from "leasehold/adapter";
import {
  findPauses,
  findRunnableTypes,
  findStuckJobs,
  type QueueCheckOptions,
  readStoreFacts,
  type RunnableType,
} from "leasehold/doctor";
import type { AnyLeasehold } from "../http/leasehold.ts";
import { onlooker, type Redactor } from "../http/rights.ts";
import { type ReadCauses, viewCauseTexts } from "./causes.ts";
import { describeSummary, type FailedGroup, type Summary } from "./summary.ts";

const minuteMs = 60_000;
/** How far back statistics are read. */
const rangeMs = 6 * 60 * minuteMs;
/** Results are cached: they change little, and hours of statistics are expensive to read. */
const keptMs = minuteMs;

/** A queue whose jobs wait too long. */
export interface BehindQueue {
  readonly queue: string;
  /** Since when the job that has waited longest could have been running. */
  readonly oldestAt: number;
  /** From when on a job has waited too long. */
  readonly lateMs: number;
}

export type FindBehindSince = (behind: BehindQueue, now: number) => Promise<number>;

/**
 * Since when jobs of a queue have been starting late. The oldest job does not show it: in a queue that is always ten minutes behind,
 * no job waits longer. So it follows the statistics back, minute by minute, to the last minute that was not late.
 */
export const createBehindSince = (leasehold: AnyLeasehold): FindBehindSince => {
  const known = new Map<string, { readonly at: number; readonly since: number }>();

  const read = async ({ queue, oldestAt, lateMs }: BehindQueue, now: number): Promise<number> => {
    const minutes = await leasehold.history.getStatistics({
      from: new Date(now - rangeMs),
      before: new Date(now),
      queue,
      everyMs: minuteMs,
      byType: false,
    });
    let since = oldestAt + lateMs;
    for (const { from, estimated } of minutes.toSorted((a, b) => b.from.getTime() - a.from.getTime())) {
      // Nothing started in this minute.
      if (estimated.timeToStartMs === null) continue;
      if (estimated.timeToStartMs.p50 < lateMs) break;
      since = Math.min(since, from.getTime());
    }
    return since;
  };

  return async (behind, now) => {
    for (const [queue, { at }] of known) if (now - at > keptMs) known.delete(queue);
    const found = known.get(behind.queue) ?? { at: now, since: await read(behind, now) };
    known.set(behind.queue, found);
    return found.since;
  };
};

export interface SummarySources {
  readonly leasehold: AnyLeasehold;
  readonly stateAdapter: AnyStateAdapter;
  /** From when on a job waits too long. */
  readonly lateness: QueueCheckOptions;
  readonly findBehindSince: FindBehindSince;
  readonly readCauses: ReadCauses;
  readonly redact: Redactor;
}

const sampleSize = 20;

/** By cause, where the store has a history. Otherwise the jobs created last are a sample of whether any failed recently. */
const readFailures = async (
  { leasehold, stateAdapter, readCauses, redact }: SummarySources,
  failed: number,
): Promise<FailedGroup[]> => {
  if (failed === 0) return [];
  if (stateAdapter.history !== undefined) {
    const { causes } = await readCauses();
    return causes.map((cause) => {
      const { name } = viewCauseTexts(redact, onlooker, cause);
      return {
        fingerprint: cause.fingerprint,
        name: typeof name === "string" ? name : null,
        count: cause.count,
        lastFailedAt: cause.lastFailedAt.getTime(),
        firstSeenAt: cause.firstSeenAt?.getTime() ?? null,
        firstDeployment: cause.firstDeployment,
      };
    });
  }
  const { jobs } = await leasehold.jobs.list({ status: "failed", limit: sampleSize });
  const times = jobs.map((job) => (job.status === "failed" ? job.failure.at.getTime() : 0));
  const lastFailedAt = Math.max(0, ...times);
  const unknown = { fingerprint: null, name: null, firstSeenAt: null, firstDeployment: null };
  return [{ ...unknown, count: failed, lastFailedAt }];
};

/** The types that are late, together for each queue. */
const byQueue = (types: readonly RunnableType[], now: number) => {
  const queues = new Map<string, RunnableType[]>();
  for (const type of types) queues.set(type.queue, [...(queues.get(type.queue) ?? []), type]);
  return [...queues].map(([queue, own]) => ({
    queue,
    typeNames: own.map(({ typeName }) => typeName),
    runnable: own.reduce((sum, { runnable }) => sum + runnable, 0),
    oldestMs: now - Math.min(...own.map(({ since }) => since)),
    since: null,
  }));
};

/** Uses the checks of doctor, so that both agree. */
export const readSummary = async (sources: SummarySources): Promise<Summary> => {
  const { stateAdapter, lateness, findBehindSince } = sources;
  if (stateAdapter.statistics === undefined)
    return {
      level: "calm",
      sentences: [{ text: "This store does not say how its queues are.", href: null, since: null }],
    };
  const facts = readStoreFacts(stateAdapter);
  const [now, late, stuck, paused, backlog] = await Promise.all([
    facts.now(),
    findRunnableTypes(facts, lateness),
    findStuckJobs(facts, 1),
    findPauses(facts),
    facts.backlog(),
  ]);
  const failed = backlog.reduce((sum, type) => sum + type.failed, 0);
  const { stalledMs: lateMs } = lateness;
  const behind = byQueue(
    late.filter(({ isServed }) => isServed),
    now,
  ).map(async (queue) => ({
    ...queue,
    since: stateAdapter.history
      ? await findBehindSince({ queue: queue.queue, oldestAt: now - queue.oldestMs, lateMs }, now)
      : null,
  }));
  return describeSummary({
    now,
    unserved: byQueue(
      late.filter(({ isServed }) => !isServed),
      now,
    ),
    behind: await Promise.all(behind),
    // One stuck job shows that no worker takes over. Their number is part of the backlog.
    stuck: stuck.length === 0 ? 0 : backlog.reduce((sum, type) => sum + type.expired, 0),
    paused,
    failed: await readFailures(sources, failed),
  });
};
