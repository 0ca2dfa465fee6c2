import { type Fields, moment, optional, whole, withDefault } from "../server/fields.ts";
import { badRequest } from "../server/http-error.ts";

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

/** The query of whatever is about a stretch of time: the latest so many minutes, or those before a moment. */
export const rangeFields: Fields<RangeQuery> = {
  from: optional(moment),
  before: optional(moment),
  minutes: withDefault(whole({ min: 1, max: longestRangeMs / minute }), 60),
};

export interface Range {
  readonly from: number;
  readonly before: number;
  /** How long each part of it is. */
  readonly width: number;
}

/** Counts are kept for 10 seconds, minutes and hours, so other steps would show some in one part and some in two. */
const widths = [
  ...[10, 20, 30].map((seconds) => seconds * second),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minute),
  ...[1, 2, 6, 12].map((hours) => hours * hour),
  day,
];

/** What is older is kept in longer parts, of which nobody knows where in them something happened. */
const keptWidth = (ageMs: number): number => {
  if (ageMs < hour) return 10 * second;
  return ageMs < 2 * day ? minute : hour;
};

/** The stretch that a query asks for, made longer where it would begin or end within a part that is kept as a whole. */
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
  const width = widths.find((step) => step >= least && length / step <= mostParts) ?? day;
  return {
    from: Math.floor(start / width) * width,
    before: Math.min(now, Math.ceil(end / kept) * kept),
    width,
  };
};
