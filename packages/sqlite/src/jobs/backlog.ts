import {
  type BacklogKind,
  createBacklogCounts,
  queueTypeKey,
  type RecentlyFinishedJob,
} from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow, firstNumber } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { type DueCounts, dueCountsRow, isOverdueSql, type PrepareDueJobs } from "../limits/due-jobs.ts";
import { groupedPriority } from "../rows/job-table.ts";
import type { Runnable } from "../rows/runnable.ts";

/** A job type in a queue: the indexes of pending and of blocked jobs begin with the two. */
export interface QueueType {
  readonly queue: string;
  readonly typeName: string;
}

const queueTypeRow = defineRow((columns): QueueType => ({
  queue: columns.value("queue"),
  typeName: columns.value("type_name"),
}));

/** The queue types with jobs of this status. Takes one step into the index for each, however many jobs there are. */
const findQueueTypes = (
  db: SqliteConnection,
  { job, pendingIndex, blockedIndex }: Tables,
  status: "pending" | "blocked",
): QueueType[] => {
  const index = status === "pending" ? pendingIndex : blockedIndex;
  const select = `SELECT ${queueTypeRow.columns} FROM ${job} INDEXED BY ${index} WHERE status = '${status}'`;
  const order = "ORDER BY queue, type_name LIMIT 1";
  const next = `${select} AND (queue, type_name) > (?, ?) ${order}`;
  const found: QueueType[] = [];
  let queueType = queueTypeRow.first(db, `${select} ${order}`, []);
  while (queueType !== undefined) {
    found.push(queueType);
    queueType = queueTypeRow.first(db, next, [queueType.queue, queueType.typeName]);
  }
  return found;
};

const mostQueries = 20;

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
 * No index has the time at which jobs finished. But jobs run roughly in the order of creation: jobs that finished recently
 * were created just before the first waiting job of their type, or are the newest of all.
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
    // The first waiting jobs of types that run together are close to each other: one query covers them.
    let last = Infinity;
    let queries = 0;
    for (const head of heads.sort((a, b) => b - a)) {
      if (head > last - limit / 2 || queries >= mostQueries) continue;
      queries += 1;
      last = head;
      collect(newestBefore, [head]);
    }
    return [...found.values()].sort((a, b) => b.finishedAt - a.finishedAt).slice(0, limit);
  };
};

// No index of running or failed jobs begins with queue and type. This many times the cap are read, of all types.
const mostCaps = 10;
// A type with more priorities than this is not searched any further.
const mostPriorities = 1_000;

const typeRow = defineRow((columns) => ({
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  count: columns.value<number>("count(*)"),
}));

export const prepareMeasureBacklog = (
  tables: Tables,
  runnable: Runnable,
  prepareDue: PrepareDueJobs,
): Operation<"measureBacklog"> => {
  const { job, pendingIndex, runningIndex, blockedIndex, expiringIndex } = tables;
  const scheduled = (comparison: string, late = "0"): string =>
    `(SELECT j.scheduled_at AS at, ${late} AS late FROM ${job} AS j INDEXED BY ${pendingIndex}
      WHERE j.status = 'pending' AND j.queue = ? AND j.type_name = ? AND j.priority = ? AND j.scheduled_at ${comparison} ?
      ORDER BY j.scheduled_at LIMIT ?)`;
  const countDue = `SELECT ${dueCountsRow.columns} FROM ${scheduled("<=")}`;
  // Reads the rows, and not only the index: for types with jobs that are overdue.
  const countDueInTime = `SELECT ${dueCountsRow.columns} FROM ${scheduled("<=", isOverdueSql)}`;
  const countLater = `SELECT count(*) FROM ${scheduled(">")}`;
  const findOverdue = `SELECT DISTINCT queue, type_name FROM (SELECT queue, type_name FROM ${job} INDEXED BY ${expiringIndex}
    WHERE expire_after_ms IS NOT NULL AND status = 'pending' AND attempt = 0 AND scheduled_at + expire_after_ms <= ?
    ORDER BY scheduled_at + expire_after_ms LIMIT ?)`;
  const countBlocked = `SELECT count(*) FROM (SELECT 1 FROM ${job} INDEXED BY ${blockedIndex}
    WHERE status = 'blocked' AND queue = ? AND type_name = ? LIMIT ?)`;
  const byLease = `${job} INDEXED BY ${runningIndex}`;
  const countSome = (source: string, condition: string, order: string): string =>
    `SELECT ${typeRow.columns} FROM (SELECT queue, type_name FROM ${source}
      WHERE ${condition} ORDER BY ${order} LIMIT ?) GROUP BY queue, type_name`;
  const countRunning = countSome(byLease, "status = 'running'", "leased_until");
  const countExpired = countSome(byLease, "status = 'running' AND leased_until <= ?", "leased_until");
  // SQLite chooses the index of failed jobs. Naming it would make the statement fail where the index is missing.
  const countFailed = countSome(job, "status = 'failed'", "created_at DESC");

  return (db: SqliteConnection, { cap }, now) => {
    const counts = createBacklogCounts(cap);
    const due = prepareDue(db, now);
    const late = new Set(queueTypeRow.all(db, findOverdue, [now, cap * mostCaps]).map(queueTypeKey));
    const add = (queueType: QueueType, found: DueCounts): void => {
      for (const kind of ["runnable", "throttled", "overdue"] as const)
        counts.add(queueType, kind, found[kind]);
      const counting = counts.of(queueType);
      if (found.oldest !== null)
        counting.oldestRunnableAt = Math.min(counting.oldestRunnableAt ?? found.oldest, found.oldest);
    };
    /** The due jobs of one priority that have no group. */
    const countRange = (queueType: QueueType, values: readonly SqliteValue[]): DueCounts => {
      const { count, overdue, oldest } = late.has(queueTypeKey(queueType))
        ? dueCountsRow.first(db, countDueInTime, [now, ...values])!
        : dueCountsRow.first(db, countDue, values)!;
      return due.isThrottled(queueType.queue, queueType.typeName)
        ? { runnable: 0, throttled: count - overdue, overdue, oldest: null }
        : { runnable: count - overdue, throttled: 0, overdue, oldest };
    };
    for (const queueType of findQueueTypes(db, tables, "pending")) {
      const { queue, typeName } = queueType;
      let visited = 0;
      for (const priority of runnable.prioritiesOf(db, queue, typeName)) {
        const values = [queue, typeName, priority, now, cap];
        const inGroups =
          priority === groupedPriority ? due.inGroups(queue, typeName, cap, cap * mostCaps) : undefined;
        add(queueType, inGroups ?? countRange(queueType, values));
        counts.add(queueType, "later", firstNumber(db, countLater, values) ?? 0);
        visited += 1;
        if (visited === mostPriorities) break;
      }
    }
    for (const queueType of findQueueTypes(db, tables, "blocked")) {
      const { queue, typeName } = queueType;
      counts.add(queueType, "blocked", firstNumber(db, countBlocked, [queue, typeName, cap]) ?? 0);
    }
    const addAll = (kind: BacklogKind, sql: string, values: readonly SqliteValue[]): void => {
      for (const found of typeRow.all(db, sql, [...values, cap * mostCaps]))
        counts.add(found, kind, found.count);
    };
    addAll("running", countRunning, []);
    addAll("expired", countExpired, [now]);
    addAll("failed", countFailed, []);
    return counts.all();
  };
};
