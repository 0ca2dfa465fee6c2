import { now } from "./clock.ts";
import type { Filter } from "./plan.ts";

export const ranges: readonly (readonly [string, string, number])[] = [
  ["15m", "last 15 minutes", 15 * 60_000],
  ["1h", "last hour", 3_600_000],
  ["24h", "last 24 hours", 24 * 3_600_000],
  ["7d", "last 7 days", 7 * 24 * 3_600_000],
];

const listed = [
  "queue",
  "typeName",
  "sequenceTypeName",
  "failureReason",
  "deduplicationKey",
  "fingerprint",
  "leasedBy",
] as const;
const single = [
  "rootSequenceId",
  "createdFrom",
  "createdBefore",
  "scheduledFrom",
  "scheduledBefore",
  "finishedFrom",
  "finishedBefore",
] as const;

/** The filter that an address stands for, as the server takes it. A range counts from when it is read. */
export const filterOf = (query: URLSearchParams): Filter => {
  const filter: Record<string, string | readonly string[]> = {};
  for (const name of listed) {
    const values = query.getAll(name).filter((value) => value !== "");
    if (values.length > 0) filter[name] = values;
  }
  for (const name of single) {
    const value = query.get(name);
    if (value !== null && value !== "") filter[name] = value;
  }
  const range = ranges.find(([key]) => key === query.get("since"));
  if (range !== undefined) filter["createdFrom"] = new Date(now.peek() - range[2]).toISOString();
  return filter;
};

/** The same for a plan, which is about the jobs of one moment. */
export const planFilterOf = (query: URLSearchParams): Filter => {
  const moment = new Date(now.peek()).toISOString();
  const scheduled: Readonly<Record<string, Filter>> = {
    now: { scheduledBefore: moment },
    later: { scheduledFrom: moment },
  };
  return { ...filterOf(query), ...scheduled[query.get("due") ?? ""] };
};
