import type { JobStatistics } from "leasehold";
import { statistics, type StatisticsPoint, timeToStart } from "../answers/numbers.ts";
import { optional, text as name } from "../http/fields.ts";
import { findNewDeployments } from "../numbers/compare.ts";
import { countFailures, rangeFields, resolveRange } from "../numbers/range.ts";
import { get, type Route } from "./route.ts";

type Counts = { -readonly [K in Exclude<keyof StatisticsPoint, "at">]: number };

const viewCounts = ({ created, completed, failed, retried }: Counts): Counts => ({
  created,
  completed,
  failed,
  retried,
});

const viewTotals = (row: Counts & Pick<JobStatistics, "estimated">) => ({
  ...viewCounts(row),
  startP50: row.estimated.timeToStartMs?.p50 ?? null,
  startP95: row.estimated.timeToStartMs?.p95 ?? null,
  runP50: row.estimated.runTimeMs?.p50 ?? null,
  runP95: row.estimated.runTimeMs?.p95 ?? null,
});

const sumByTime = (rows: readonly (Counts & { readonly from: Date })[]) => {
  const points = new Map<number, Counts>();
  for (const row of rows) {
    const at = row.from.getTime();
    const point = points.get(at);
    if (point === undefined) points.set(at, viewCounts(row));
    else for (const key of Object.keys(point) as (keyof Counts)[]) point[key] += row[key];
  }
  return [...points]
    .sort(([a], [b]) => a - b)
    .map(([at, point]) => ({ at: new Date(at).toISOString(), ...point }));
};

const readStatistics = get({
  path: "statistics",
  needs: "read",
  summary: "What all processes counted: over time, by queue, and by type. Percentiles are estimates.",
  isExpensive: true,
  isShared: true,
  query: { ...rangeFields, queue: optional(name()) },
  answer: statistics,
  handle: async ({ leasehold, stateAdapter, now }, { query }) => {
    const range = resolveRange(query, await now(), { mostParts: 200 });
    const stretch = { from: new Date(range.from), before: new Date(range.before), queue: query.queue };
    const hasHistory = stateAdapter.history !== undefined;
    const [parts, types, queues] = hasHistory
      ? await Promise.all([
          leasehold.history.getStatistics({ ...stretch, everyMs: range.bucketMs, byDeployment: true }),
          leasehold.history.getStatistics(stretch),
          leasehold.history.getStatistics({ ...stretch, byType: false }),
        ])
      : [[], [], []];
    const deployments = await findNewDeployments(leasehold, parts, range);
    return {
      from: stretch.from.toISOString(),
      before: stretch.before.toISOString(),
      bucketMs: range.bucketMs,
      isEstimate: true,
      points: sumByTime(parts),
      queues: queues.map((row) => ({ queue: row.queue, ...viewTotals(row) })),
      types: types.map((row) => ({ queue: row.queue, typeName: row.typeName, ...viewTotals(row) })),
      failures: countFailures(parts),
      deployments: deployments.map(({ deployment, at }) => ({ deployment, at: at.toISOString() })),
    };
  },
});

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

const mostQueues = 50;

const mostColumns = 100;

const readTimeToStart = get({
  path: "time-to-start",
  needs: "read",
  summary:
    "How long jobs waited after they were due, as an estimate of the 95th percentile, and how many ended, by queue and time.",
  isExpensive: true,
  isShared: true,
  query: { ...rangeFields, queue: optional(name()) },
  answer: timeToStart,
  handle: async ({ leasehold, stateAdapter, now }, { query }) => {
    const range = resolveRange(query, await now(), { mostParts: mostColumns, shortest: 60_000 });
    const { bucketMs } = range;
    const [from, before] = [new Date(range.from), new Date(range.before)];
    const rows =
      stateAdapter.history === undefined
        ? []
        : await leasehold.history.getStatistics({
            from,
            before,
            everyMs: bucketMs,
            byType: false,
            queue: query.queue,
          });
    const columns = Math.ceil((range.before - range.from) / bucketMs);
    const byQueue = new Map<string, { readonly p95: (number | null)[]; readonly ended: number[] }>();
    for (const { queue, from: at, completed, failed, estimated } of rows) {
      let entry = byQueue.get(queue);
      if (entry === undefined)
        byQueue.set(
          queue,
          (entry = {
            p95: Array.from({ length: columns }, () => null),
            ended: Array.from({ length: columns }, () => 0),
          }),
        );
      const column = (at.getTime() - range.from) / bucketMs;
      entry.p95[column] = estimated.timeToStartMs?.p95 ?? null;
      entry.ended[column] = completed + failed;
    }
    const busiest = [...byQueue]
      .filter(([, { p95 }]) => p95.some((value) => value !== null))
      .sort(([, a], [, b]) => sum(b.ended) - sum(a.ended));
    return {
      from: from.toISOString(),
      before: before.toISOString(),
      bucketMs,
      queues: busiest
        .slice(0, mostQueues)
        .map(([queue, { p95, ended }]) => ({ queue, p95, ended }))
        .sort((a, b) => (a.queue < b.queue ? -1 : 1)),
      left: Math.max(0, busiest.length - mostQueues),
    };
  },
});

export const statisticsRoutes: readonly Route[] = [readStatistics, readTimeToStart];
