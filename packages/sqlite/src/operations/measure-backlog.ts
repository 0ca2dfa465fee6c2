import type { TypeBacklog } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../connection/connection.ts";
import type { Operation } from "../operation.ts";
import { findQueueTypes, type QueueType } from "../queue-types.ts";
import { defineRow, firstNumber } from "../row.ts";
import type { Runnable } from "../runnable.ts";
import type { Tables } from "../tables.ts";

type Counting = { -readonly [Key in keyof TypeBacklog]: TypeBacklog[Key] };
type Kind = keyof Omit<TypeBacklog, "queue" | "typeName" | "oldestRunnableAt">;

// Of running and failed jobs no index begins with queue and type. This many times the cap are looked at, of all types.
const mostCaps = 10;
// A type with more priorities than this is not searched any further.
const mostPriorities = 1_000;

/** Adds up counts by queue and type, each up to the cap. */
const createCounts = (cap: number) => {
  const counts = new Map<string, Counting>();
  const of = ({ queue, typeName }: QueueType): Counting => {
    const key = JSON.stringify([queue, typeName]);
    const none = { runnable: 0, later: 0, running: 0, expired: 0, blocked: 0, failed: 0 };
    const found = counts.get(key) ?? { queue, typeName, ...none, oldestRunnableAt: null };
    counts.set(key, found);
    return found;
  };
  return {
    of,
    all: () => [...counts.values()],
    add: (queueType: QueueType, kind: Kind, count: number): void => {
      const counting = of(queueType);
      counting[kind] = Math.min(cap, counting[kind] + count);
    },
  };
};

const dueRow = defineRow((columns) => ({
  count: columns.value<number>("count(*)"),
  oldest: columns.value<number | null>("min(scheduled_at)", null),
}));
const typeRow = defineRow((columns) => ({
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  count: columns.value<number>("count(*)"),
}));

export const prepareMeasureBacklog = (tables: Tables, runnable: Runnable): Operation<"measureBacklog"> => {
  const { job, pendingIndex, runningIndex, blockedIndex } = tables;
  const scheduled = (comparison: string): string =>
    `(SELECT scheduled_at FROM ${job} INDEXED BY ${pendingIndex}
      WHERE status = 'pending' AND queue = ? AND type_name = ? AND priority = ? AND scheduled_at ${comparison} ?
      ORDER BY scheduled_at LIMIT ?)`;
  const countDue = `SELECT ${dueRow.columns} FROM ${scheduled("<=")}`;
  const countLater = `SELECT count(*) FROM ${scheduled(">")}`;
  const countBlocked = `SELECT count(*) FROM (SELECT 1 FROM ${job} INDEXED BY ${blockedIndex}
    WHERE status = 'blocked' AND queue = ? AND type_name = ? LIMIT ?)`;
  const byLease = `${job} INDEXED BY ${runningIndex}`;
  const countSome = (source: string, condition: string, order: string): string =>
    `SELECT ${typeRow.columns} FROM (SELECT queue, type_name FROM ${source}
      WHERE ${condition} ORDER BY ${order} LIMIT ?) GROUP BY queue, type_name`;
  const countRunning = countSome(byLease, "status = 'running'", "leased_until");
  const countExpired = countSome(byLease, "status = 'running' AND leased_until <= ?", "leased_until");
  // The index of failed jobs is found without being named. A statement that names it would be an error where it is missing.
  const countFailed = countSome(job, "status = 'failed'", "created_at DESC");

  return (db: SqliteConnection, { cap }, now) => {
    const counts = createCounts(cap);
    for (const queueType of findQueueTypes(db, tables, "pending")) {
      const { queue, typeName } = queueType;
      let visited = 0;
      for (const priority of runnable.prioritiesOf(db, queue, typeName)) {
        const values = [queue, typeName, priority, now, cap];
        const { count, oldest } = dueRow.first(db, countDue, values)!;
        counts.add(queueType, "runnable", count);
        counts.add(queueType, "later", firstNumber(db, countLater, values) ?? 0);
        const counting = counts.of(queueType);
        if (oldest !== null)
          counting.oldestRunnableAt = Math.min(counting.oldestRunnableAt ?? oldest, oldest);
        visited += 1;
        if (visited === mostPriorities) break;
      }
    }
    for (const queueType of findQueueTypes(db, tables, "blocked")) {
      const { queue, typeName } = queueType;
      counts.add(queueType, "blocked", firstNumber(db, countBlocked, [queue, typeName, cap]) ?? 0);
    }
    const addAll = (kind: Kind, sql: string, values: readonly SqliteValue[]): void => {
      for (const found of typeRow.all(db, sql, [...values, cap * mostCaps]))
        counts.add(found, kind, found.count);
    };
    addAll("running", countRunning, []);
    addAll("expired", countExpired, [now]);
    addAll("failed", countFailed, []);
    return counts.all();
  };
};
