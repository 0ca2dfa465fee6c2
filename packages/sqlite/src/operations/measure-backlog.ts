import type { TypeBacklog, RecentlyFinishedJob } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../connection/connection.ts";
import type { Tables } from "../tables.ts";

export interface BacklogReads {
  measureBacklog(db: SqliteConnection, cap: number, now: number): TypeBacklog[];
  listRecentlyFinished(
    db: SqliteConnection,
    call: { readonly from: number; readonly limit: number },
  ): RecentlyFinishedJob[];
}

type Counting = { -readonly [Key in keyof TypeBacklog]: TypeBacklog[Key] };
type LaneName = readonly [queue: string, typeName: string];

// Of running and failed jobs, which no index has by lane.
const mostCaps = 10;
// A lane with more priorities than this is not searched any further.
const mostPriorities = 1_000;
const mostHeads = 20;

const createLanes = (cap: number) => {
  const lanes = new Map<string, Counting>();
  const get = (queue: string, typeName: string): Counting => {
    const key = JSON.stringify([queue, typeName]);
    const none = { runnable: 0, later: 0, running: 0, expired: 0, blocked: 0, failed: 0 };
    const lane = lanes.get(key) ?? { queue, typeName, ...none, oldestRunnableAt: null };
    lanes.set(key, lane);
    return lane;
  };
  return {
    get,
    all: () => [...lanes.values()],
    add: (
      [queue, typeName]: LaneName,
      kind: keyof Omit<Counting, "queue" | "typeName" | "oldestRunnableAt">,
      count: number,
    ): void => {
      const lane = get(queue, typeName);
      lane[kind] = Math.min(cap, lane[kind] + count);
    },
  };
};

export const createBacklogReads = (tables: Tables): BacklogReads => {
  const { job, pendingIndex, runningIndex, blockedIndex } = tables;

  /** Leaps from lane to lane of an index that begins with queue and type. */
  const lanesOf = (db: SqliteConnection, index: string, status: "pending" | "blocked"): LaneName[] => {
    const from = `SELECT queue, type_name FROM ${job} INDEXED BY ${index} WHERE status = '${status}'`;
    const order = "ORDER BY queue, type_name LIMIT 1";
    const found: LaneName[] = [];
    for (let row = db.first(`${from} ${order}`, []); row !== undefined;) {
      const lane = row as unknown as LaneName;
      found.push(lane);
      row = db.first(`${from} AND (queue, type_name) > (?, ?) ${order}`, [...lane]);
    }
    return found;
  };

  const ofLane = `FROM ${job} INDEXED BY ${pendingIndex} WHERE status = 'pending' AND queue = ? AND type_name = ?`;
  const firstPriority = `SELECT priority ${ofLane} ORDER BY priority DESC LIMIT 1`;
  const nextPriority = `SELECT priority ${ofLane} AND priority < ? ORDER BY priority DESC LIMIT 1`;
  const counted = (condition: string): string =>
    `SELECT count(*), min(scheduled_at) FROM (SELECT scheduled_at ${ofLane} AND priority = ? AND scheduled_at ${condition} ?
      ORDER BY scheduled_at LIMIT ?)`;
  const [countDue, countLater] = [counted("<="), counted(">")];
  const countBlocked = `SELECT count(*) FROM (SELECT 1 FROM ${job} INDEXED BY ${blockedIndex}
    WHERE status = 'blocked' AND queue = ? AND type_name = ? LIMIT ?)`;
  const byLease = `${job} INDEXED BY ${runningIndex}`;
  const countSome = (source: string, condition: string, order: string): string =>
    `SELECT queue, type_name, count(*) FROM (SELECT queue, type_name FROM ${source}
      WHERE ${condition} ORDER BY ${order} LIMIT ?) GROUP BY queue, type_name`;
  const countRunning = countSome(byLease, "status = 'running'", "leased_until");
  const countExpired = countSome(byLease, "status = 'running' AND leased_until <= ?", "leased_until");
  // Its index is found without being named, and somebody who lacks it has to be told so, not refused.
  const countFailed = countSome(job, "status = 'failed'", "created_at DESC");

  const recent = (condition: string): string =>
    `SELECT seq, queue, type_name, status, created_at, coalesce(completed_at, failed_at) FROM (
      SELECT seq, queue, type_name, status, created_at, completed_at, failed_at FROM ${job} ${condition}
      ORDER BY seq DESC LIMIT ?
    ) WHERE coalesce(completed_at, failed_at) >= ?`;
  const newest = recent("");
  const before = recent("WHERE seq < ?");
  const headOfLane = `SELECT seq ${ofLane} ORDER BY priority DESC, scheduled_at, seq LIMIT 1`;

  return {
    measureBacklog: (db, cap, now) => {
      const lanes = createLanes(cap);
      for (const name of lanesOf(db, pendingIndex, "pending")) {
        let row = db.first(firstPriority, [...name]);
        for (let visited = 0; row !== undefined && visited < mostPriorities; visited += 1) {
          const priority = row[0] as number;
          const [due, oldest] = db.first(countDue, [...name, priority, now, cap]) as [number, number | null];
          const [later] = db.first(countLater, [...name, priority, now, cap]) as [number];
          lanes.add(name, "runnable", due);
          lanes.add(name, "later", later);
          const lane = lanes.get(...name);
          if (oldest !== null) lane.oldestRunnableAt = Math.min(lane.oldestRunnableAt ?? oldest, oldest);
          row = db.first(nextPriority, [...name, priority]);
        }
      }
      for (const name of lanesOf(db, blockedIndex, "blocked")) {
        const [count] = db.first(countBlocked, [...name, cap]) as [number];
        lanes.add(name, "blocked", count);
      }
      const addAll = (kind: "running" | "expired" | "failed", sql: string, values: SqliteValue[]): void => {
        for (const [queue, typeName, count] of db.query(sql, [...values, cap * mostCaps]))
          lanes.add([queue as string, typeName as string], kind, count as number);
      };
      addAll("running", countRunning, []);
      addAll("expired", countExpired, [now]);
      addAll("failed", countFailed, []);
      return lanes.all();
    },

    /**
     * No index has the time at which jobs finished. Jobs run more or less in the order of their creation, so those that
     * finished last stand before the first that still waits in their lane, or at the end.
     */
    listRecentlyFinished: (db, { from, limit }) => {
      const rows = new Map<number, RecentlyFinishedJob>();
      const collect = (sql: string, values: readonly SqliteValue[]): void => {
        for (const [seq, queue, typeName, status, createdAt, finishedAt] of db.query(sql, [
          ...values,
          limit,
          from,
        ]))
          rows.set(seq as number, { queue, typeName, status, createdAt, finishedAt } as RecentlyFinishedJob);
      };
      collect(newest, []);
      const heads = lanesOf(db, pendingIndex, "pending").map(
        (name) => db.first(headOfLane, [...name])?.[0] as number,
      );
      // Lanes that are served together have their heads side by side: one look will do for them.
      let last = Infinity;
      let looks = 0;
      for (const head of heads.sort((a, b) => b - a)) {
        if (head > last - limit / 2 || looks >= mostHeads) continue;
        looks += 1;
        last = head;
        collect(before, [head]);
      }
      return [...rows.values()].sort((a, b) => b.finishedAt - a.finishedAt).slice(0, limit);
    },
  };
};
