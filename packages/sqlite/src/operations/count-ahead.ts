import type { Operation } from "../operation.ts";
import { defineRow } from "../row.ts";
import type { Place, Runnable } from "../runnable.ts";
import type { Tables } from "../tables.ts";

const placeRow = defineRow((columns): Place => ({
  queue: columns.value("queue"),
  priority: columns.value("priority"),
  at: columns.value("scheduled_at"),
  seq: columns.value("seq"),
}));

export const prepareCountAhead = ({ job }: Tables, runnable: Runnable): Operation<"countAhead"> => {
  const findPlace = `SELECT ${placeRow.columns} FROM ${job} WHERE id = ? AND status = 'pending'`;
  return (db, { jobId }, now) => {
    const place = placeRow.first(db, findPlace, [jobId]);
    return place === undefined ? null : runnable.countBefore(db, place, now);
  };
};
