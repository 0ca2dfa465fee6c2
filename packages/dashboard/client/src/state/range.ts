import { computed } from "@preact/signals";
import type { Statistics, TimeToStart } from "../../../src/answers/numbers.ts";
import { type Polled, usePolled } from "./api.ts";
import { changeQuery, navigate, place, type Query, thisPathWith, withQuery } from "./router.ts";
import { offers } from "./session.ts";
import { now } from "./settings.ts";

/** The ranges of time that a page with numbers can show. */
export const ranges = [
  ["15m", "15 m", 15, "the last 15 minutes"],
  ["1h", "1 h", 60, "the last hour"],
  ["6h", "6 h", 6 * 60, "the last 6 hours"],
  ["24h", "24 h", 24 * 60, "the last 24 hours"],
  ["7d", "7 d", 7 * 24 * 60, "the last 7 days"],
] as const;

export type RangeKey = (typeof ranges)[number][0];

const usualRange = ranges[1];

export const range = computed(
  () => ranges.find(([key]) => key === place.value.query.get("range")) ?? usualRange,
);

export const chooseRange = (key: RangeKey): void =>
  changeQuery({ range: key === usualRange[0] ? undefined : key });

/** When the shown range of time ends; undefined for now. */
export const rangeEnd = computed((): string | undefined => {
  const time = Date.parse(place.value.query.get("at") ?? "");
  return Number.isNaN(time) || time >= now.peek() ? undefined : new Date(time).toISOString();
});

/** Without the parts of seconds that an address need not have. */
const shortIso = (time: number): string => new Date(time).toISOString().replace(/(:00)?\.000Z$/, "Z");

/** This page for a range that ends at a time; for now if it has none or one in the future. */
export const pathAt = (time: number | undefined): string =>
  thisPathWith({ at: time === undefined || time >= now.peek() ? undefined : shortIso(time) });

export const lookAt = (time: number | undefined): void => navigate(pathAt(time));

/** A path of another page for the same range. */
export const withMoment = (path: string, query: Query = {}): string =>
  withQuery(path, {
    ...query,
    range: place.value.query.get("range") ?? undefined,
    at: place.value.query.get("at") ?? undefined,
  });

export const queuePath = (queue: string): string => withMoment("/queues", { name: queue });

/** A past range does not change, so it is read once. */
const useStretch = <T>(route: string, queue: string | undefined): Polled<T> => {
  const path = withQuery(route, { minutes: String(range.value[2]), before: rangeEnd.value, queue });
  return usePolled<T>(offers("history") ? path : null, rangeEnd.value === undefined ? 10_000 : null);
};

export const useStatistics = (queue?: string): Polled<Statistics> => useStretch("statistics", queue);

export const useTimeToStart = (queue?: string): Polled<TimeToStart> => useStretch("time-to-start", queue);
