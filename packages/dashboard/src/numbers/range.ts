import { badRequest } from "../http/errors.ts";
import { type Fields, timestamp, optional, whole, withDefault } from "../http/fields.ts";

interface Counted {
  readonly from: Date;
  readonly typeName: string;
  readonly failed: number;
}

export interface TypeFailures {
  /** Null for all other types together. */
  readonly typeName: string | null;
  /** How many types these are. */
  readonly types: number;
  readonly failed: number;
  readonly points: readonly { readonly at: string; readonly failed: number }[];
}

/** How many types are shown separately. */
const most = 5;

const sumUp = (typeName: string | null, types: number, rows: readonly Counted[]): TypeFailures => {
  const points = new Map<number, number>();
  for (const { from, failed } of rows) {
    const at = from.getTime();
    points.set(at, (points.get(at) ?? 0) + failed);
  }
  return {
    typeName,
    types,
    failed: rows.reduce((sum, { failed }) => sum + failed, 0),
    points: [...points]
      .sort(([a], [b]) => a - b)
      .map(([at, failed]) => ({ at: new Date(at).toISOString(), failed })),
  };
};

/** Failures by type over time: the types with the most first, then the rest together. */
export const countFailures = (rows: readonly Counted[]): TypeFailures[] => {
  const byType = new Map<string, Counted[]>();
  for (const row of rows) {
    if (row.failed === 0) continue;
    const known = byType.get(row.typeName);
    if (known === undefined) byType.set(row.typeName, [row]);
    else known.push(row);
  }
  const types = [...byType]
    .map(([typeName, counted]) => sumUp(typeName, 1, counted))
    .sort((a, b) => b.failed - a.failed);
  if (types.length <= most) return types;
  const others = types.slice(most - 1);
  const rest = others.flatMap(({ typeName }) => byType.get(typeName!)!);
  return [...types.slice(0, most - 1), sumUp(null, others.length, rest)];
};

const second = 1_000;

const minute = 60 * second;

const hour = 60 * minute;

const day = 24 * hour;

const longestRangeMs = 90 * day;

interface RangeQuery {
  readonly from: Date | undefined;
  readonly before: Date | undefined;
  readonly minutes: number;
}

/** The query of a range of time: the latest minutes, or the minutes before a time. */
export const rangeFields: Fields<RangeQuery> = {
  from: optional(timestamp),
  before: optional(timestamp),
  minutes: withDefault(whole({ min: 1, max: longestRangeMs / minute }), 60),
};

export interface Range {
  readonly from: number;
  readonly before: number;
  /** The size of a time bucket. */
  readonly bucketMs: number;
}

/** Counts are stored by 10 seconds, minutes and hours, so other sizes would split a stored bucket. */
const bucketSizes = [
  ...[10, 20, 30].map((seconds) => seconds * second),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minute),
  ...[1, 2, 6, 12].map((hours) => hours * hour),
  day,
];

/** Older counts are stored in larger buckets, which cannot be divided. */
const keptWidth = (ageMs: number): number => {
  if (ageMs < hour) return 10 * second;
  return ageMs < 2 * day ? minute : hour;
};

/** The range of a query, extended to whole buckets. */
export const resolveRange = (
  query: RangeQuery,
  now: number,
  { mostParts, shortest = 0 }: { readonly mostParts: number; readonly shortest?: number | undefined },
): Range => {
  const end = Math.min(query.before?.getTime() ?? now, now);
  const start = query.from?.getTime() ?? end - query.minutes * minute;
  const length = end - start;
  if (length <= 0 || length > longestRangeMs)
    throw badRequest('"from" must be in the past and before "before", by 90 days at most.');
  const kept = keptWidth(now - start);
  const least = Math.max(kept, shortest);
  const bucketMs = bucketSizes.find((step) => step >= least && length / step <= mostParts) ?? day;
  return {
    from: Math.floor(start / bucketMs) * bucketMs,
    before: Math.min(now, Math.ceil(end / kept) * kept),
    bucketMs,
  };
};
