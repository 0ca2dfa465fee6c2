import type { AnyJob } from "leasehold";
import { countByQueue, type QueueNumbers, type StatusCounts, sumCounts } from "../store/job-numbers.ts";
import type { AnyLeasehold } from "../store/store.ts";
import { percentile } from "./percentile.ts";

/** From creation to completion, for jobs that completed lately. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
}

export interface LiveRow extends QueueNumbers {
  /** Completed per second, over the last few samples. */
  readonly perSecond: number;
  readonly latency: Latency | undefined;
}

export interface LiveSample {
  readonly at: Date;
  readonly rows: readonly LiveRow[];
  readonly total: StatusCounts;
  readonly perSecond: number;
  readonly latency: Latency | undefined;
  /** The rate of each of the last samples, oldest first. */
  readonly history: readonly number[];
}

export interface SamplerOptions {
  readonly leasehold: AnyLeasehold;
  /** The store's clock, which jobs are dated by. */
  readonly getTime: () => Promise<number>;
  readonly queue?: readonly string[] | undefined;
}

// Long enough that a rate does not jump, short enough that it follows.
const rateWindowMs = 10_000;
const longestHistory = 40;
// Latencies are of a sample of recent jobs: reading all of them would be work for the store.
const latencyWindowMs = 30_000;
const latencyCreatedWindowMs = 600_000;
const latencySample = 200;

const keyOf = ({ queue, typeName }: { readonly queue: string; readonly typeName: string }): string =>
  JSON.stringify([queue, typeName]);

const latencyOf = (durations: readonly number[]): Latency | undefined => {
  const sorted = durations.toSorted((a, b) => a - b);
  const p50 = percentile(sorted, 0.5);
  const p95 = percentile(sorted, 0.95);
  return p50 === undefined || p95 === undefined ? undefined : { p50, p95 };
};

const durationOf = (job: AnyJob): number =>
  job.status === "completed" ? job.completedAt.getTime() - job.createdAt.getTime() : 0;

interface Reading {
  readonly at: number;
  readonly completed: ReadonlyMap<string, number>;
}

/** Looks at the store from time to time, and makes rates of the differences. */
export const createSampler = ({ leasehold, getTime, queue }: SamplerOptions): (() => Promise<LiveSample>) => {
  let readings: Reading[] = [];
  const history: number[] = [];

  const rateOf = (key: string, now: Reading, before: Reading | undefined): number => {
    if (before === undefined || now.at === before.at) return 0;
    // A type that was not there before had none; jobs that were deleted meanwhile are no negative work.
    const done = (now.completed.get(key) ?? 0) - (before.completed.get(key) ?? 0);
    return Math.max(0, (done / (now.at - before.at)) * 1_000);
  };

  return async () => {
    const at = await getTime();
    const numbers = await countByQueue(leasehold, { queue });
    const { jobs } = await leasehold.listJobs({
      status: "completed",
      queue,
      createdFrom: new Date(at - latencyCreatedWindowMs),
      finishedFrom: new Date(at - latencyWindowMs),
      limit: latencySample,
    });
    const reading: Reading = {
      at,
      completed: new Map(numbers.map((row) => [keyOf(row), row.counts.completed])),
    };
    const previous = readings.at(-1);
    readings = [...readings.filter((earlier) => earlier.at >= at - rateWindowMs), reading];
    const before = readings[0] === reading ? previous : readings[0];
    const completed: readonly AnyJob[] = jobs;
    const latencyOfType = (key: string): Latency | undefined =>
      latencyOf(completed.filter((job) => keyOf(job) === key).map(durationOf));
    const rows = numbers.map((row) => ({
      ...row,
      perSecond: rateOf(keyOf(row), reading, before),
      latency: latencyOfType(keyOf(row)),
    }));
    const keys = [...reading.completed.keys()];
    history.push(keys.reduce((sum, key) => sum + rateOf(key, reading, previous), 0));
    if (history.length > longestHistory) history.shift();
    return {
      at: new Date(at),
      rows,
      total: sumCounts(numbers),
      perSecond: rows.reduce((sum, row) => sum + row.perSecond, 0),
      latency: latencyOf(completed.map(durationOf)),
      history: [...history],
    };
  };
};
