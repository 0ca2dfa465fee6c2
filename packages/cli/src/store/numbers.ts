import type { EstimatedPercentiles, LeaseholdProcess } from "leasehold";
import {
  type AnyStateAdapter,
  formatCount,
  type RecentlyFinishedJob,
  requirePart,
  type TypeBacklog,
} from "leasehold/adapter";
import { countPending } from "leasehold/doctor";

/** How many more there are hardly matters, and counting them is work for the store. */
const countCap = 10_000;

const sampleSize = 5_000;

/** Most jobs are completed ones, and no store counts them quickly. */
export const countedStatuses = ["blocked", "pending", "running", "failed"] as const;

/** A status that the live view counts. */
export type CountedStatus = (typeof countedStatuses)[number];

/** Numbers of jobs by status. */
export interface StatusNumbers {
  readonly counts: Readonly<Record<CountedStatus, number>>;
  /** Those of the counts that are only so far: there may be more. */
  readonly atLeast: readonly CountedStatus[];
}

/** Numbers of jobs of one queue and type. */
export interface QueueNumbers extends StatusNumbers {
  readonly queue: string;
  readonly typeName: string;
}

export interface QueueChoice {
  readonly queue?: readonly string[] | undefined;
}

const byName = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const toNumbers = (backlog: TypeBacklog): QueueNumbers => {
  const { queue, typeName, blocked, runnable, throttled, overdue, later, running, failed } = backlog;
  const isCapped = {
    blocked: blocked >= countCap,
    pending: Math.max(runnable, throttled, overdue, later) >= countCap,
    running: running >= countCap,
    failed: failed >= countCap,
  };
  return {
    queue,
    typeName,
    counts: { blocked, pending: countPending(backlog), running, failed },
    atLeast: countedStatuses.filter((status) => isCapped[status]),
  };
};

/** What has not completed of each queue and type, in the order of their names. */
export const readBacklog = async (
  stateAdapter: AnyStateAdapter,
  { queue }: QueueChoice,
): Promise<TypeBacklog[]> => {
  const backlogs = await requirePart(stateAdapter, "statistics", "Counting jobs").measureBacklog({
    cap: countCap,
  });
  return backlogs
    .filter((backlog) => queue === undefined || queue.includes(backlog.queue))
    .sort((a, b) => byName(a.queue, b.queue) || byName(a.typeName, b.typeName));
};

/** The same as numbers by status, with the queues and types of which jobs have finished lately and nothing is left. */
export const countByQueue = (
  backlogs: readonly TypeBacklog[],
  recent: readonly { readonly queue: string; readonly typeName: string }[],
): QueueNumbers[] => {
  const rows = new Map(backlogs.map((backlog) => [queueTypeKey(backlog), toNumbers(backlog)]));
  const nothing = { blocked: 0, pending: 0, running: 0, failed: 0 };
  for (const { queue, typeName } of recent) {
    const key = queueTypeKey({ queue, typeName });
    if (!rows.has(key)) rows.set(key, { queue, typeName, counts: nothing, atLeast: [] });
  }
  return [...rows.values()].sort((a, b) => byName(a.queue, b.queue) || byName(a.typeName, b.typeName));
};

export const queueTypeKey = ({
  queue,
  typeName,
}: {
  readonly queue: string;
  readonly typeName: string;
}): string => JSON.stringify([queue, typeName]);

export const sumNumbers = (rows: readonly QueueNumbers[]): StatusNumbers => {
  const counts = { blocked: 0, pending: 0, running: 0, failed: 0 };
  for (const row of rows) for (const status of countedStatuses) counts[status] += row.counts[status];
  const atLeast = countedStatuses.filter((status) => rows.some((row) => row.atLeast.includes(status)));
  return { counts, atLeast };
};

export const formatNumber = ({ counts, atLeast }: StatusNumbers, status: CountedStatus): string =>
  `${formatCount(counts[status])}${atLeast.includes(status) ? "+" : ""}`;

/** A sample of what finished lately, the latest first. */
export interface Recent {
  readonly jobs: readonly RecentlyFinishedJob[];
  /** It ends where the sample was full, not where the time began. */
  readonly isCut: boolean;
}

export const readRecent = async (
  stateAdapter: AnyStateAdapter,
  { from, queue }: QueueChoice & { readonly from: number },
): Promise<Recent> => {
  const jobs = await requirePart(stateAdapter, "statistics", "Measuring rates").listRecentlyFinished({
    from,
    limit: sampleSize,
  });
  return {
    jobs: jobs.filter((job) => queue === undefined || queue.includes(job.queue)),
    isCut: jobs.length >= sampleSize,
  };
};

/** The part of a Leasehold that reads the counts of all processes. */
export interface StatisticsSource {
  readonly history: {
    getStatistics(options: { readonly from: Date; readonly before: Date }): Promise<readonly CountedType[]>;
    listProcesses(): Promise<readonly LeaseholdProcess[]>;
  };
}

/** What became of the jobs of one type. */
export interface CountedType {
  readonly queue: string;
  readonly typeName: string;
  readonly completed: number;
  readonly failed: number;
  readonly estimated: {
    readonly timeToStartMs: EstimatedPercentiles | null;
    readonly runTimeMs: EstimatedPercentiles | null;
  };
}

/** The workers of live processes together. */
export interface Workers {
  readonly count: number;
  readonly slots: number;
  readonly running: number;
}

export interface CountedWork {
  /** From when on it was counted. */
  readonly since: number;
  readonly types: readonly CountedType[];
  readonly workers: Workers;
}

/** Processes count for stretches of this length. */
const stretchMs = 10_000;

const sumWorkers = (processes: readonly LeaseholdProcess[]): Workers => {
  const workers = processes.filter(({ alive }) => alive).flatMap((process) => process.workers);
  return {
    count: workers.length,
    slots: workers.reduce((sum, { concurrency }) => sum + concurrency, 0),
    running: workers.reduce((sum, { running }) => sum + running, 0),
  };
};

/**
 * What processes have counted since a time, which costs the store a few rows however many jobs there were. Undefined
 * without counts: the store keeps no history, or all processes run with `statistics: false`.
 */
export const readCountedWork = async (
  source: StatisticsSource | undefined,
  stateAdapter: AnyStateAdapter,
  { from, now, queue }: QueueChoice & { readonly from: number; readonly now: number },
): Promise<CountedWork | undefined> => {
  if (source === undefined || stateAdapter.history === undefined) return undefined;
  const processes = await source.history.listProcesses();
  if (!processes.some(({ seenAt }) => seenAt.getTime() >= from)) return undefined;
  const since = Math.floor(from / stretchMs) * stretchMs;
  const types = await source.history.getStatistics({
    from: new Date(since),
    before: new Date(now + stretchMs),
  });
  return {
    since,
    types: types.filter((type) => queue === undefined || queue.includes(type.queue)),
    workers: sumWorkers(processes),
  };
};
