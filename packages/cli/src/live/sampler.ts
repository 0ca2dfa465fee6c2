import type { AnyStateAdapter, FlowUse, RecentlyFinishedJob } from "leasehold/adapter";
import {
  countByQueue,
  queueTypeKey,
  type QueueNumbers,
  readBacklog,
  readRecent,
  type StatusNumbers,
  sumNumbers,
} from "../store/job-numbers.ts";
import { percentile } from "./percentile.ts";

/** From creation to completion, for jobs that completed lately. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
}

export interface LiveRow extends QueueNumbers {
  /** Completed per second, over the last few seconds. */
  readonly perSecond: number;
  readonly latency: Latency | undefined;
  /** What holds its jobs back, if a rule of its queue or type does. */
  readonly held: "paused" | "full" | "rate" | undefined;
}

export interface LiveSample {
  readonly at: Date;
  readonly rows: readonly LiveRow[];
  readonly total: StatusNumbers;
  readonly perSecond: number;
  readonly latency: Latency | undefined;
  /** The rate of each of the last samples, oldest first. */
  readonly history: readonly number[];
}

export interface SamplerOptions {
  readonly stateAdapter: AnyStateAdapter;
  /** The store's clock, which jobs are dated by. Default: the store is asked. */
  readonly getTime?: () => Promise<number>;
  readonly queue?: readonly string[] | undefined;
}

// Long enough that a rate does not jump, short enough that it follows.
const windowMs = 10_000;
const longestHistory = 40;

type Held = LiveRow["held"];

const holdOf = ({ rule, running, tokens }: FlowUse): Held => {
  if (rule.paused) return "paused";
  if (rule.concurrency !== null && running >= rule.concurrency) return "full";
  return tokens === 0 ? "rate" : undefined;
};

/** By the rule of the queue, else by that of the type. */
const heldBy = (flow: readonly FlowUse[], { queue, typeName }: QueueNumbers): Held => {
  const find = (name: string | null): FlowUse | undefined =>
    flow.find(({ rule }) => rule.queue === queue && rule.typeName === name);
  const [ofQueue, ofType] = [find(null), find(typeName)];
  return (ofQueue && holdOf(ofQueue)) ?? (ofType && holdOf(ofType));
};

const latencyOf = (jobs: readonly RecentlyFinishedJob[]): Latency | undefined => {
  const sorted = jobs.map(({ createdAt, finishedAt }) => finishedAt - createdAt).sort((a, b) => a - b);
  const p50 = percentile(sorted, 0.5);
  const p95 = percentile(sorted, 0.95);
  return p50 === undefined || p95 === undefined ? undefined : { p50, p95 };
};

/** Looks at the store from time to time: at what waits, and at a sample of what finished lately. */
export const createSampler = ({
  stateAdapter,
  getTime = () => stateAdapter.getTime(),
  queue,
}: SamplerOptions): (() => Promise<LiveSample>) => {
  const history: number[] = [];
  let previousAt: number | undefined;

  return async () => {
    const at = await getTime();
    const backlog = await readBacklog(stateAdapter, { queue });
    const recent = await readRecent(stateAdapter, { from: at - windowMs, queue });
    const flow = (await stateAdapter.flow?.listFlow({ queue: null })) ?? [];
    const completed = recent.jobs.filter(({ status }) => status === "completed");
    // A full sample reaches back only so far.
    const oldest = recent.isCut ? recent.jobs.at(-1)?.finishedAt : undefined;
    const perSecondSince = (jobs: readonly RecentlyFinishedJob[], from: number): number => {
      const start = Math.max(from, oldest ?? from);
      const count = jobs.filter(({ finishedAt }) => finishedAt >= start).length;
      return (count / Math.max(1, at - start)) * 1_000;
    };
    const rows = countByQueue(backlog, recent.jobs).map((row) => {
      const own = completed.filter((job) => queueTypeKey(job) === queueTypeKey(row));
      return {
        ...row,
        perSecond: perSecondSince(own, at - windowMs),
        latency: latencyOf(own),
        held: heldBy(flow, row),
      };
    });
    history.push(perSecondSince(completed, Math.max(previousAt ?? 0, at - windowMs)));
    if (history.length > longestHistory) history.shift();
    previousAt = at;
    return {
      at: new Date(at),
      rows,
      total: sumNumbers(rows),
      perSecond: perSecondSince(completed, at - windowMs),
      latency: latencyOf(completed),
      history: [...history],
    };
  };
};
