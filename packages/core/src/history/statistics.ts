import { InvalidOptionError } from "../base/errors.ts";
import {
  longestDurationMs,
  requireBoolean,
  requireDate,
  requireInteger,
  requireName,
} from "../base/options.ts";
import type { History } from "../store/contract/history.ts";
import type { Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { oneOrMany } from "../jobs/filter.ts";
import type { ReadBucketsCall, StatisticsBucket } from "../store/contract/history.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { EstimatedPercentiles, JobStatistics } from "./api.ts";
import {
  addStored,
  bucketMs,
  countOf,
  emptyCounts,
  estimatePercentiles,
  type Histogram,
  readCounts,
  type SlotCounts,
  bucketSizes,
} from "./counts.ts";
import { countServing, countSlots, type Serving } from "./processes.ts";

const knownOptions = {
  from: true,
  before: true,
  queue: true,
  typeName: true,
  everyMs: true,
  byType: true,
  byDeployment: true,
} as const;

const pageSize = 5_000;

const mostStretches = 10_000;

type BucketRange = Omit<ReadBucketsCall, "bucketMs" | "limit">;

/** Page by page. A row has one bucket size, so all sizes together are everything that was counted. */
async function* readCounted(
  history: History<object>,
  ctx: object | undefined,
  { from, before, queues, typeNames }: BucketRange,
): AsyncGenerator<readonly StatisticsBucket[]> {
  for (const { bucketMs } of bucketSizes) {
    let start = from;
    for (;;) {
      const limit = pageSize;
      const page = await history.readBuckets({
        ctx,
        mayLag: true,
        bucketMs,
        from: start,
        before,
        queues,
        typeNames,
        limit,
      });
      const last = page.at(-1)?.from;
      if (last === undefined) break;
      const isFull = page.length === limit;
      // The last bucket of a full page may continue in the next page. If it is the only one, the rest cannot be read.
      const isOnly = page[0]!.from === last;
      yield isFull && !isOnly ? page.filter(({ from: at }) => at < last) : page;
      if (!isFull) break;
      start = isOnly ? last + bucketMs : last;
    }
  }
}

interface Group extends Pick<StatisticsBucket, "queue" | "deployment"> {
  readonly typeName: string | null;
  readonly stretch: number;
  readonly counts: SlotCounts;
}

/** The map under a key, which is made if there is none. */
const mapIn = <TKey, TInnerKey, TValue>(
  maps: Map<TKey, Map<TInnerKey, TValue>>,
  key: TKey,
): Map<TInnerKey, TValue> => {
  let map = maps.get(key);
  if (map === undefined) maps.set(key, (map = new Map()));
  return map;
};

export const getStatistics = (engine: Engine, passed: unknown): Promise<JobStatistics[]> =>
  operation(
    engine,
    "history.getStatistics",
    passed,
    { options: knownOptions, part: "history" },
    async ({ options, ctx, part: history }) => {
      const from = requireDate(options["from"], "from").getTime();
      const before =
        options["before"] === undefined
          ? await engine.store.getTime({ ctx })
          : requireDate(options["before"], "before").getTime();
      if (before <= from)
        throw new InvalidOptionError("from", "must be earlier than `before`", options["from"]);
      const everyMs = parseEvery(options["everyMs"], before - from);
      const { byType = true, byDeployment = false } = options;
      const splitsTypes = requireBoolean(byType, "byType");
      const splitsDeployments = requireBoolean(byDeployment, "byDeployment");
      const range = {
        from,
        before,
        queues: oneOrMany(options["queue"], "queue", requireName),
        typeNames: oneOrMany(options["typeName"], "typeName", requireName),
      };

      const groups: Group[] = [];
      // Maps in maps, because to make one key of it all for each of thousands of rows takes longer than to add its counts.
      const byBucket = new Map<number, Map<string, Map<string | null, Map<string, Group>>>>();
      for await (const page of readCounted(history, ctx, range))
        for (const row of page) {
          const stretch = Math.floor((row.from - from) / everyMs);
          const { queue } = row;
          const typeName = splitsTypes ? row.typeName : null;
          const deployment = splitsDeployments ? row.deployment : "";
          const byName = mapIn(mapIn(mapIn(byBucket, stretch), queue), typeName);
          let group = byName.get(deployment);
          if (!group) {
            group = { stretch, queue, typeName, deployment, counts: emptyCounts() };
            byName.set(deployment, group);
            groups.push(group);
          }
          addStored(group.counts, row.counts);
        }
      return groups
        .sort((a, b) => a.stretch - b.stretch)
        .map((group) => {
          const start = from + group.stretch * everyMs;
          return viewGroup(group, start, Math.min(start + everyMs, before));
        });
    },
  );

const parseEvery = (value: unknown, rangeMs: number): number => {
  if (value === undefined) return rangeMs;
  const everyMs = requireInteger(value, "everyMs", { min: bucketMs, max: longestDurationMs });
  if (rangeMs / everyMs > mostStretches)
    throw new InvalidOptionError("everyMs", `must not make more than ${mostStretches} stretches`, value);
  return everyMs;
};

const percentiles = (histogram: Histogram): EstimatedPercentiles | null => {
  const [p50, p95, p99] = estimatePercentiles(histogram, [0.5, 0.95, 0.99]) ?? [];
  return p50 === undefined ? null : { p50, p95: p95!, p99: p99! };
};

const viewGroup = (
  { queue, typeName, deployment, counts: sum }: Group,
  from: number,
  before: number,
): JobStatistics => {
  const { failed: failedByReason, timeToStart, runTime, ...counts } = readCounts(sum);
  const failed = Object.values(failedByReason).reduce((sum, count) => sum + count, 0);
  const seconds = (before - from) / 1_000;
  return {
    from: new Date(from),
    before: new Date(before),
    queue,
    // Null only with `byType: false`, as in the façade's types.
    typeName: typeName as string,
    deployment: deployment === "" ? null : deployment,
    ...counts,
    failed,
    failedByReason,
    perSecond: {
      created: counts.created / seconds,
      completed: counts.completed / seconds,
      failed: failed / seconds,
    },
    estimated: { timeToStartMs: percentiles(timeToStart), runTimeMs: percentiles(runTime) },
  };
};

/** What can be said about when a runnable job starts. */
export interface StartEstimate {
  /** How many live workers serve its queue and type; null without statistics. */
  readonly workers: number | null;
  /** How many jobs these workers run, and how many they can; null without such workers. */
  readonly slots: { readonly running: number; readonly concurrency: number } | null;
  readonly estimatedStart: Date | null;
}

export interface JobsAhead {
  readonly aheadInQueue: number;
  /** There are more. */
  readonly aheadCapped: boolean;
}

const paceMs = 5 * 60_000;

/**
 * The jobs ahead of it, at the pace of its queue in the last minutes. The pace is measured from the first bucket with a run, or
 * from the start of the process that counted it: a queue that has been busy for ten seconds has the pace of ten seconds.
 */
export const estimateStart = async (
  engine: Engine,
  ctx: object | undefined,
  job: StateJob,
  { aheadInQueue, aheadCapped }: JobsAhead,
  serving: Serving,
  now: number,
): Promise<StartEstimate> => {
  const { history } = engine.store;
  if (!history) return { workers: null, slots: null, estimatedStart: null };
  const workers = countServing(serving, job);
  const slots = countSlots(serving, job);
  if (!workers || aheadInQueue === 0 || aheadCapped) return { workers, slots, estimatedStart: null };
  const range = { from: now - paceMs, before: now, queues: [job.queue] };
  let runs = 0;
  let since = now;
  for await (const page of readCounted(history, ctx, range))
    for (const { counts, from, processId } of page) {
      const bucket = emptyCounts();
      addStored(bucket, counts);
      const count = countOf(readCounts(bucket).runTime);
      if (count === 0) continue;
      runs += count;
      since = Math.min(since, Math.max(from, serving.startedAt.get(processId) ?? 0));
    }
  const waitMs = (aheadInQueue / runs) * Math.max(1, now - since);
  const estimatedStart = Number.isFinite(waitMs) ? new Date(Math.ceil(now + waitMs)) : null;
  return { workers, slots, estimatedStart };
};
