import type { ClaimScope, MaxAttempts, StateJob } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "./connection/connection.ts";
import { jobColumns, queryJobs } from "./job-columns.ts";
import { defineRow, firstNumber, firstText } from "./row.ts";
import type { Tables } from "./tables.ts";

/** A job that can be claimed, with its place in the order of claims. */
export interface Candidate {
  readonly seq: number;
  readonly priority: number;
  /** `scheduledAt`, or the end of the lease that has expired. */
  readonly at: number;
}

export interface RunnableScope extends ClaimScope {
  readonly maxAttempts: MaxAttempts | undefined;
}

/** Where a pending job stands in its queue. */
export interface Place extends Candidate {
  readonly queue: string;
}

/**
 * Which jobs can be claimed, and in which order. A job can be claimed when it is
 *
 * - pending, and its scheduled time has come, or
 * - running under a lease that has expired, with an attempt left. (Without one it is the reaper's.)
 *
 * Claims, `nextRunnableIn`, `countAhead` and the reaper all ask here. If claims and `nextRunnableIn` disagreed, workers
 * would ask again and again for a job that they do not get. Whatever else holds jobs back, such as a pause or a limit,
 * belongs here too.
 *
 * Pending jobs are found by a few steps into their index, however many there are. It is ordered by queue, type, priority
 * and time: each (type, priority) is a stretch of its own, which begins with the jobs that are due. Jobs that are
 * scheduled for later, or are of types that were not asked for, are never visited.
 */
export interface Runnable {
  /** The first ones in claim order. */
  first(db: SqliteConnection, scope: RunnableScope, limit: number, now: number): Candidate[];
  /** The earliest moment, past or future, at which one can be claimed. */
  nextAt(db: SqliteConnection, scope: RunnableScope): number | null;
  /** How many would be claimed before the job in this place. */
  countBefore(db: SqliteConnection, place: Place, now: number): number;
  /** The jobs whose lease expired first, with or without attempts left. */
  expired(db: SqliteConnection, limit: number, now: number): StateJob[];
  /** The priorities of the pending jobs of a type, from the highest down. */
  prioritiesOf(db: SqliteConnection, queue: string, typeName: string): Iterable<number>;
}

const inClaimOrder = (a: Candidate, b: Candidate): number =>
  b.priority - a.priority || a.at - b.at || a.seq - b.seq;

const expiredRow = defineRow((columns): Candidate => ({
  seq: columns.value("seq"),
  priority: columns.value("priority"),
  at: columns.value("leased_until"),
}));
const dueRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  at: columns.value<number>("scheduled_at"),
}));

export const createRunnable = ({ job, pendingIndex, runningIndex }: Tables): Runnable => {
  const pending = `FROM ${job} INDEXED BY ${pendingIndex} WHERE status = 'pending' AND queue = ?`;
  const firstType = `SELECT type_name ${pending} ORDER BY type_name LIMIT 1`;
  const nextType = `SELECT type_name ${pending} AND type_name > ? ORDER BY type_name LIMIT 1`;
  const firstPriority = `SELECT priority ${pending} AND type_name = ? ORDER BY priority DESC LIMIT 1`;
  const nextPriority = `SELECT priority ${pending} AND type_name = ? AND priority < ? ORDER BY priority DESC LIMIT 1`;
  const due = `SELECT ${dueRow.text} FROM (SELECT seq, scheduled_at ${pending}
    AND type_name = ? AND priority = ? AND scheduled_at <= ? ORDER BY scheduled_at, seq LIMIT ?)`;
  const earliest = `SELECT scheduled_at ${pending} AND type_name = ? AND priority = ? ORDER BY scheduled_at LIMIT 1`;

  const running = (maxAttempts: string): string => `FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND attempt < ${maxAttempts}
      AND queue = ? AND (? IS NULL OR type_name IN (SELECT value FROM json_each(?)))`;
  const expiredOf = (maxAttempts: string): { readonly all: string; readonly first: string } => ({
    all: `SELECT ${expiredRow.columns} ${running(maxAttempts)} AND leased_until <= ?`,
    first: `SELECT leased_until ${running(maxAttempts)} ORDER BY leased_until LIMIT 1`,
  });
  const expired = expiredOf("max_attempts");
  const expiredByOverrides = expiredOf(`CASE WHEN max_attempts_given = 0
    THEN coalesce((SELECT value FROM json_each(?) WHERE key = type_name), max_attempts) ELSE max_attempts END`);
  const listExpired = `SELECT ${jobColumns("j")} FROM ${job} AS j INDEXED BY ${runningIndex}
    WHERE j.status = 'running' AND j.leased_until <= ? ORDER BY j.leased_until LIMIT ?`;

  // Those that would go first at the moment when the job in place `p` falls due, as far as can be known now.
  const goesFirst = (at: string): string => `j.queue = p.queue AND ${at} <= p.moment
    AND (j.priority > p.priority OR j.priority = p.priority AND (${at} < p.at OR ${at} = p.at AND j.seq < p.seq))`;
  const countFirst = `WITH place (queue, priority, at, seq, moment, now) AS (VALUES (?, ?, ?, ?, ?, ?)) SELECT
    (SELECT count(*) FROM place AS p CROSS JOIN ${job} AS j INDEXED BY ${pendingIndex}
      WHERE j.status = 'pending' AND ${goesFirst("j.scheduled_at")}) +
    (SELECT count(*) FROM place AS p CROSS JOIN ${job} AS j INDEXED BY ${runningIndex}
      WHERE j.status = 'running' AND j.leased_until <= p.now AND j.attempt < j.max_attempts
        AND ${goesFirst("j.leased_until")})`;

  const typesOf = (db: SqliteConnection, { queue, typeNames }: RunnableScope): string[] => {
    if (typeNames !== null) return [...new Set(typeNames)];
    const types: string[] = [];
    let type = firstText(db, firstType, [queue]);
    while (type !== undefined) {
      types.push(type);
      type = firstText(db, nextType, [queue, type]);
    }
    return types;
  };

  /** The priority of pending jobs that comes after this one; the highest for undefined. */
  const priorityBelow = (
    db: SqliteConnection,
    queue: string,
    type: string,
    priority?: number,
  ): number | undefined =>
    priority === undefined
      ? firstNumber(db, firstPriority, [queue, type])
      : firstNumber(db, nextPriority, [queue, type, priority]);

  function* prioritiesOf(db: SqliteConnection, queue: string, type: string): Generator<number> {
    let priority = priorityBelow(db, queue, type);
    while (priority !== undefined) {
      yield priority;
      priority = priorityBelow(db, queue, type, priority);
    }
  }

  /** The statements that find expired leases, and the values they begin with. */
  const expiredIn = ({ queue, typeNames, maxAttempts }: RunnableScope): [typeof expired, SqliteValue[]] => {
    const types = typeNames === null ? null : JSON.stringify(typeNames);
    const values = [queue, types, types];
    return maxAttempts === undefined
      ? [expired, values]
      : [expiredByOverrides, [JSON.stringify(maxAttempts), ...values]];
  };

  return {
    prioritiesOf,
    first: (db, scope, limit, now) => {
      if (limit <= 0) return [];
      const { queue } = scope;
      const [{ all }, values] = expiredIn(scope);
      const candidates = expiredRow.all(db, all, [...values, now]);
      // The priority that each type has got to.
      const levels = new Map<string, number>();
      const descend = (type: string, from?: number): void => {
        const priority = priorityBelow(db, queue, type, from);
        if (priority === undefined) levels.delete(type);
        else levels.set(type, priority);
      };
      for (const type of typesOf(db, scope)) descend(type);

      // One priority after the other, across all types, until there are enough that no lower one can get in.
      while (levels.size > 0) {
        const level = Math.max(...levels.values());
        const above = candidates.filter(({ priority }) => priority > level).length;
        if (above >= limit) break;
        for (const [type, priority] of levels) {
          if (priority !== level) continue;
          const found = dueRow.allOfText(db, due, [queue, type, level, now, limit - above]);
          for (const { seq, at } of found) candidates.push({ seq, priority, at });
          // When a stretch has filled the claim, there is no need to look for lower priorities.
          if (found.length < limit - above) descend(type, level);
          else levels.delete(type);
        }
      }
      return candidates.sort(inClaimOrder).slice(0, limit);
    },
    nextAt: (db, scope) => {
      const [{ first }, values] = expiredIn(scope);
      let next = firstNumber(db, first, values);
      for (const type of typesOf(db, scope)) {
        for (const priority of prioritiesOf(db, scope.queue, type)) {
          const at = firstNumber(db, earliest, [scope.queue, type, priority]);
          if (at !== undefined && (next === undefined || at < next)) next = at;
        }
      }
      return next ?? null;
    },
    countBefore: (db, { queue, priority, at, seq }, now) =>
      firstNumber(db, countFirst, [queue, priority, at, seq, Math.max(now, at), now]) ?? 0,
    expired: (db, limit, now) => queryJobs(db, listExpired, [now, limit]),
  };
};
