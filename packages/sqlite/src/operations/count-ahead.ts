import type { CountInLine } from "../flow/count-in-line.ts";
import type { Operation } from "../operation.ts";
import { defineRow } from "../row.ts";
import type { Runnable } from "../runnable.ts";
import type { Tables } from "../tables.ts";

const placeRow = defineRow((columns) => ({
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  priority: columns.value<number>("coalesce(given_priority, priority)"),
  scheduledAt: columns.value<number>("scheduled_at"),
  seq: columns.value<number>("seq"),
  group: columns.value<string | null>("group_key", null),
  ordered: columns.value<string | null>("ordered", null),
  leaseVersion: columns.value<number>("lease_version"),
  line: columns.value<number | null>("line", null),
}));

export const prepareCountAhead = (
  { job }: Tables,
  runnable: Runnable,
  countInLine: CountInLine,
): Operation<"countAhead"> => {
  const findPlace = `SELECT ${placeRow.columns} FROM ${job} WHERE id = ? AND status = 'pending'`;
  return (db, { jobId, cap }, now) => {
    const place = placeRow.first(db, findPlace, [jobId]);
    if (place === undefined) return null;
    const { line } = place;
    return line === null
      ? runnable.countBefore(db, { ...place, at: place.scheduledAt }, cap, now)
      : countInLine(db, { ...place, line }, cap, now);
  };
};
