import type { ClaimRequest, MaxAttempts } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "./connection/connection.ts";
import type { Tables } from "./tables.ts";

/** A job that can be claimed, with its place in the order of claims. */
export interface Candidate {
  readonly seq: number;
  readonly priority: number;
  /** `scheduledAt`, or the end of the lease that ran out. */
  readonly at: number;
}

interface Lane extends Omit<ClaimRequest, "limit"> {
  readonly maxAttempts: MaxAttempts | undefined;
}

/**
 * Finds what can be claimed by a few steps into the index of pending jobs, however many jobs there are: it is ordered by
 * queue, type, priority and time, so each (type, priority) is a stretch of its own, at whose beginning lie the jobs
 * that are due. What is scheduled for later, or belongs to types not asked for, is never walked through.
 */
export interface Runnable {
  /** In claim order. */
  first(db: SqliteConnection, lane: Lane, limit: number, now: number): Candidate[];
  /** The earliest moment, past or to come, from which on one can be claimed. */
  nextAt(db: SqliteConnection, lane: Lane): number | null;
}

const goesBefore = (a: Candidate, b: Candidate): number =>
  b.priority - a.priority || a.at - b.at || a.seq - b.seq;

export const createRunnable = ({ job, pendingIndex, runningIndex }: Tables): Runnable => {
  const pending = `FROM ${job} INDEXED BY ${pendingIndex} WHERE status = 'pending' AND queue = ?`;
  const firstType = `SELECT type_name ${pending} ORDER BY type_name LIMIT 1`;
  const nextType = `SELECT type_name ${pending} AND type_name > ? ORDER BY type_name LIMIT 1`;
  const firstPriority = `SELECT priority ${pending} AND type_name = ? ORDER BY priority DESC LIMIT 1`;
  const nextPriority = `SELECT priority ${pending} AND type_name = ? AND priority < ? ORDER BY priority DESC LIMIT 1`;
  const due = `SELECT json_group_array(json_array(seq, scheduled_at)) FROM (SELECT seq, scheduled_at ${pending}
    AND type_name = ? AND priority = ? AND scheduled_at <= ? ORDER BY scheduled_at, seq LIMIT ?)`;
  const earliest = `SELECT scheduled_at ${pending} AND type_name = ? AND priority = ? ORDER BY scheduled_at LIMIT 1`;
  // Only what has an attempt left; the rest is for the reaper.
  const running = (maxAttempts: string): string => `FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND attempt < ${maxAttempts}
      AND queue = ? AND (? IS NULL OR type_name IN (SELECT value FROM json_each(?)))`;
  const expiredOf = (maxAttempts: string): { readonly all: string; readonly first: string } => ({
    all: `SELECT seq, priority, leased_until ${running(maxAttempts)} AND leased_until <= ?`,
    first: `SELECT leased_until ${running(maxAttempts)} ORDER BY leased_until LIMIT 1`,
  });
  const expired = expiredOf("max_attempts");
  const expiredByOverrides = expiredOf(`CASE WHEN max_attempts_given = 0
    THEN coalesce((SELECT value FROM json_each(?) WHERE key = type_name), max_attempts) ELSE max_attempts END`);

  const typesOf = (db: SqliteConnection, { queue, typeNames }: Lane): string[] => {
    if (typeNames !== null) return [...new Set(typeNames)];
    const types: string[] = [];
    for (let row = db.first(firstType, [queue]); row !== undefined;) {
      const type = row[0] as string;
      types.push(type);
      row = db.first(nextType, [queue, type]);
    }
    return types;
  };

  /** The priority of pending jobs that comes after this one; the highest for undefined. */
  const priorityBelow = (
    db: SqliteConnection,
    queue: string,
    type: string,
    priority?: number,
  ): number | undefined => {
    const row =
      priority === undefined
        ? db.first(firstPriority, [queue, type])
        : db.first(nextPriority, [queue, type, priority]);
    return row?.[0] as number | undefined;
  };

  /** The statements that find leases that have run out, and the values they begin with. */
  const expiredIn = ({ queue, typeNames, maxAttempts }: Lane): [typeof expired, SqliteValue[]] => {
    const types = typeNames === null ? null : JSON.stringify(typeNames);
    const values = [queue, types, types];
    return maxAttempts === undefined
      ? [expired, values]
      : [expiredByOverrides, [JSON.stringify(maxAttempts), ...values]];
  };

  return {
    first: (db, lane, limit, now) => {
      if (limit <= 0) return [];
      const [{ all }, values] = expiredIn(lane);
      const candidates: Candidate[] = db
        .query(all, [...values, now])
        .map(([seq, priority, at]) => ({ seq, priority, at }) as Candidate);
      const levels = new Map<string, number>();
      const descend = (type: string, from?: number): void => {
        const priority = priorityBelow(db, lane.queue, type, from);
        if (priority === undefined) levels.delete(type);
        else levels.set(type, priority);
      };
      for (const type of typesOf(db, lane)) descend(type);

      // One priority after the other, across all types, until there are enough that nothing below can get in.
      while (levels.size > 0) {
        const level = Math.max(...levels.values());
        const above = candidates.filter(({ priority }) => priority > level).length;
        if (above >= limit) break;
        for (const [type, priority] of levels) {
          if (priority !== level) continue;
          const [text] = db.first(due, [lane.queue, type, level, now, limit - above]) ?? [];
          const rows = JSON.parse(text as string) as [number, number][];
          for (const [seq, at] of rows) candidates.push({ seq, at, priority });
          // A full stretch leaves no room for lower priorities, so there is no need to look for them.
          if (rows.length < limit - above) descend(type, level);
          else levels.delete(type);
        }
      }
      return candidates.sort(goesBefore).slice(0, limit);
    },
    nextAt: (db, lane) => {
      const [{ first }, values] = expiredIn(lane);
      let next = (db.first(first, values)?.[0] ?? null) as number | null;
      for (const type of typesOf(db, lane)) {
        let priority = priorityBelow(db, lane.queue, type);
        for (; priority !== undefined; priority = priorityBelow(db, lane.queue, type, priority)) {
          const at = db.first(earliest, [lane.queue, type, priority])?.[0] as number | undefined;
          if (at !== undefined && (next === null || at < next)) next = at;
        }
      }
      return next;
    },
  };
};
