import type { EstimatedPercentiles, LeaseholdProcess } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import type { QueueChoice } from "./job-numbers.ts";

/** The part of a Leasehold that knows what processes have counted. */
export interface StatisticsSource {
  getStatistics(options: { readonly from: Date; readonly before: Date }): Promise<readonly CountedType[]>;
  listProcesses(): Promise<readonly LeaseholdProcess[]>;
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
 * What processes have counted since a moment, which costs the store a few rows however many jobs there were. Undefined where
 * nobody counts: the store keeps no history, or all processes are of a version that does not report, or are told not to.
 */
export const readCountedWork = async (
  source: StatisticsSource | undefined,
  stateAdapter: AnyStateAdapter,
  { from, now, queue }: QueueChoice & { readonly from: number; readonly now: number },
): Promise<CountedWork | undefined> => {
  if (source === undefined || stateAdapter.history === undefined) return undefined;
  const processes = await source.listProcesses();
  if (!processes.some(({ seenAt }) => seenAt.getTime() >= from)) return undefined;
  const since = Math.floor(from / stretchMs) * stretchMs;
  const types = await source.getStatistics({ from: new Date(since), before: new Date(now + stretchMs) });
  return {
    since,
    types: types.filter((type) => queue === undefined || queue.includes(type.queue)),
    workers: sumWorkers(processes),
  };
};
