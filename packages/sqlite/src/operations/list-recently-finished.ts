import type { RecentlyFinishedJob } from "leasehold/adapter";
import type { SqliteValue } from "../connection/connection.ts";
import type { Operation } from "../operation.ts";
import { findQueueTypes } from "../queue-types.ts";
import { defineRow, firstNumber } from "../row.ts";
import type { Tables } from "../tables.ts";

const mostLooks = 20;

const finishedRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  job: {
    queue: columns.value("queue"),
    typeName: columns.value("type_name"),
    status: columns.value("status"),
    createdAt: columns.value("created_at"),
    finishedAt: columns.value("coalesce(completed_at, failed_at)"),
  } satisfies RecentlyFinishedJob,
}));

/**
 * No index has the time at which jobs finished. But jobs run more or less in the order in which they were created. So
 * those that finished last were created just before the first job of their type that still waits, or last of all.
 */
export const prepareListRecentlyFinished = (tables: Tables): Operation<"listRecentlyFinished"> => {
  const { job, pendingIndex } = tables;
  const newest = (condition: string): string => `SELECT ${finishedRow.columns} FROM (
      SELECT seq, queue, type_name, status, created_at, completed_at, failed_at FROM ${job} ${condition}
      ORDER BY seq DESC LIMIT ?
    ) WHERE coalesce(completed_at, failed_at) >= ?`;
  const newestOfAll = newest("");
  const newestBefore = newest("WHERE seq < ?");
  const firstWaiting = `SELECT seq FROM ${job} INDEXED BY ${pendingIndex}
    WHERE status = 'pending' AND queue = ? AND type_name = ? ORDER BY priority DESC, scheduled_at, seq LIMIT 1`;

  return (db, { from, limit }) => {
    const found = new Map<number, RecentlyFinishedJob>();
    const collect = (sql: string, values: readonly SqliteValue[]): void => {
      for (const { seq, job } of finishedRow.all(db, sql, [...values, limit, from])) found.set(seq, job);
    };
    collect(newestOfAll, []);
    const heads = findQueueTypes(db, tables, "pending").map(
      ({ queue, typeName }) => firstNumber(db, firstWaiting, [queue, typeName]) ?? 0,
    );
    // Types that run together have their first waiting jobs side by side: one look is enough for them.
    let last = Infinity;
    let looks = 0;
    for (const head of heads.sort((a, b) => b - a)) {
      if (head > last - limit / 2 || looks >= mostLooks) continue;
      looks += 1;
      last = head;
      collect(newestBefore, [head]);
    }
    return [...found.values()].sort((a, b) => b.finishedAt - a.finishedAt).slice(0, limit);
  };
};
