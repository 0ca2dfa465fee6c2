import type { AnyStateAdapter, LimitUse, RecentlyFinishedJob } from "leasehold/adapter";
import {
  countByQueue,
  type CountedWork,
  type QueueNumbers,
  queueTypeKey,
  readBacklog,
  readCountedWork,
  readRecent,
  type Recent,
  type StatisticsSource,
  type StatusNumbers,
  sumNumbers,
  type Workers,
} from "../store/numbers.ts";

/** The value below which this share of the sorted values lies, by nearest rank; undefined where there are none. */
export const percentile = (sorted: readonly number[], share: number): number | undefined =>
  sorted.length === 0 ? undefined : sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];

/** Half of the jobs took less than `p50`, 95 of a hundred less than `p95`. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
}

/** A row of the live view: one queue and type. */
export interface LiveRow extends QueueNumbers {
  /** Completed per second, over the last few seconds. */
  readonly perSecond: number;
  /** From creation to completion, in a sample of jobs; undefined where processes have counted. */
  readonly latency: Latency | undefined;
  /** From when jobs could have run until they were claimed, and how long handlers ran, as processes have counted it. */
  readonly timeToStart: Latency | undefined;
  readonly runTime: Latency | undefined;
  /** What holds its jobs back, if a rule of its queue or type does. */
  readonly held: "paused" | "full" | "rate" | undefined;
}

/** What the live view has read at one time. */
export interface LiveSample {
  readonly at: Date;
  readonly rows: readonly LiveRow[];
  readonly total: StatusNumbers;
  readonly perSecond: number;
  readonly latency: Latency | undefined;
  /** The live workers; undefined where that is not known. */
  readonly workers: Workers | undefined;
  /** The rate of each of the last samples, oldest first. */
  readonly history: readonly number[];
}

export interface SamplerOptions {
  readonly stateAdapter: AnyStateAdapter;
  /** For what processes have counted. Default: a sample of the jobs has to do. */
  readonly leasehold?: StatisticsSource | undefined;
  /** The store's clock, which jobs are dated by. Default: the store is asked. */
  readonly getTime?: () => Promise<number>;
  readonly queue?: readonly string[] | undefined;
}

// Long enough that a rate does not jump, short enough that it follows.
const windowMs = 10_000;

const longestHistory = 40;

type Held = LiveRow["held"];

const holdOf = ({ rule, running, tokens }: LimitUse): Held => {
  if (rule.paused) return "paused";
  if (rule.concurrency !== null && running >= rule.concurrency) return "full";
  return tokens === 0 ? "rate" : undefined;
};

/** By the rule of the queue, else by that of the type. */
const throttledBy = (flow: readonly LimitUse[], { queue, typeName }: QueueNumbers): Held => {
  const find = (name: string | null): LimitUse | undefined =>
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

/** What was done lately, of each type and in all. */
interface Pace {
  readonly types: readonly { readonly queue: string; readonly typeName: string }[];
  /** Of one type. */
  of(row: QueueNumbers): Pick<LiveRow, "perSecond" | "latency" | "timeToStart" | "runTime">;
  readonly perSecond: number;
  /** Since the look before. */
  readonly perSecondNow: number;
  readonly latency: Latency | undefined;
  readonly workers: Workers | undefined;
}

const countedPace = ({ since, types, workers }: CountedWork, at: number): Pace => {
  const perSecond = (count: number): number => (count / Math.max(1, at - since)) * 1_000;
  const all = perSecond(types.reduce((sum, { completed }) => sum + completed, 0));
  return {
    types,
    of: (row) => {
      const own = types.find((type) => queueTypeKey(type) === queueTypeKey(row));
      return {
        perSecond: perSecond(own?.completed ?? 0),
        latency: undefined,
        timeToStart: own?.estimated.timeToStartMs ?? undefined,
        runTime: own?.estimated.runTimeMs ?? undefined,
      };
    },
    perSecond: all,
    perSecondNow: all,
    latency: undefined,
    workers,
  };
};

const sampledPace = ({ jobs, isCut }: Recent, at: number, previousAt: number): Pace => {
  const completed = jobs.filter(({ status }) => status === "completed");
  // A full sample reaches back only so far.
  const oldest = isCut ? jobs.at(-1)?.finishedAt : undefined;
  const perSecondSince = (some: readonly RecentlyFinishedJob[], from: number): number => {
    const start = Math.max(from, oldest ?? from);
    const count = some.filter(({ finishedAt }) => finishedAt >= start).length;
    return (count / Math.max(1, at - start)) * 1_000;
  };
  return {
    types: jobs,
    of: (row) => {
      const own = completed.filter((job) => queueTypeKey(job) === queueTypeKey(row));
      return {
        perSecond: perSecondSince(own, at - windowMs),
        latency: latencyOf(own),
        timeToStart: undefined,
        runTime: undefined,
      };
    },
    perSecond: perSecondSince(completed, at - windowMs),
    perSecondNow: perSecondSince(completed, Math.max(previousAt, at - windowMs)),
    latency: latencyOf(completed),
    workers: undefined,
  };
};

/** Looks at the store from time to time: at what waits, and at what was done lately. */
export const createSampler = ({
  stateAdapter,
  leasehold,
  getTime = () => stateAdapter.getTime(),
  queue,
}: SamplerOptions): (() => Promise<LiveSample>) => {
  const history: number[] = [];
  let previousAt = 0;

  return async () => {
    const at = await getTime();
    const from = at - windowMs;
    const backlog = await readBacklog(stateAdapter, { queue });
    const counted = await readCountedWork(leasehold, stateAdapter, { from, now: at, queue });
    const pace = counted
      ? countedPace(counted, at)
      : sampledPace(await readRecent(stateAdapter, { from, queue }), at, previousAt);
    const flow = (await stateAdapter.limits?.listRules({ queue: null })) ?? [];
    const rows = countByQueue(backlog, pace.types).map((row) => ({
      ...row,
      ...pace.of(row),
      held: throttledBy(flow, row),
    }));
    history.push(pace.perSecondNow);
    if (history.length > longestHistory) history.shift();
    previousAt = at;
    const { perSecond, latency, workers } = pace;
    return {
      at: new Date(at),
      rows,
      total: sumNumbers(rows),
      perSecond,
      latency,
      workers,
      history: [...history],
    };
  };
};
