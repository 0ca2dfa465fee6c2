import type { ClaimScope, CountAheadCall, QueueHead, MaxAttempts, StateJob } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../database/connection.ts";
import { defineRow, firstNumber, firstText } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { begunOrder, groupedPriority, jobColumns, queryJobs } from "./job-table.ts";

/** Makes these jobs, whose leases have expired, pending. */
export type RequeueExpired = (db: SqliteConnection, jobIds: readonly string[]) => void;

/** Removes the token, so that a late outcome of the former holder is refused and not taken for a repetition. */
export const endExpiredLease =
  "expired_leases = expired_leases + 1, last_failed_at = leased_until, lease_token = NULL, leased_by = NULL, leased_until = NULL";

export const prepareRequeueExpired = ({ job }: Tables): RequeueExpired => {
  const requeue = `UPDATE ${job} SET status = 'pending', scheduled_at = leased_until, ${endExpiredLease}
    WHERE id IN (SELECT value FROM json_each(?))`;
  return (db, jobIds) => void db.run(requeue, [JSON.stringify(jobIds)]);
};

/** A job that can be claimed, with its place in the order of claims. */
export interface Candidate {
  readonly seq: number;
  readonly priority: number;
  /** `scheduledAt`, or the end of the lease that has expired. */
  readonly at: number;
  readonly isExpired?: true;
}

export interface RunnableScope extends ClaimScope {
  readonly maxAttempts: MaxAttempts | undefined;
}

/** Where a pending job stands in its queue. */
export interface Place extends Candidate {
  readonly queue: string;
}

/** A running job that can be claimed again when its lease ends. */
export interface LeasedJob {
  readonly id: string;
  readonly typeName: string;
  readonly group: string | null;
  /** Bits: see `countedIn` in core. */
  readonly countedIn: number;
  readonly leasedUntil: number;
}

/**
 * Which jobs can be claimed, and in which order. A job can be claimed when it is
 *
 * - pending, and its scheduled time has come, or
 * - running under a lease that has expired, with an attempt left. (A job without one is left to the reaper.)
 *
 * Claims, `nextRunnableIn`, `countAhead` and the reaper all use these queries. If claims and `nextRunnableIn` disagreed,
 * workers would claim in a loop without getting a job. Queues with rules or groups combine them in `limits/`.
 *
 * The index of pending jobs is ordered by queue, type, priority and time: each (type, priority) is one range, which begins with
 * the jobs that are due. Jobs scheduled for later and jobs of other types are never read. Grouped jobs have the lowest
 * priority there, and an index of their own, in which each group is one range.
 */
export interface Runnable {
  /** The first claimable jobs in claim order. */
  first(db: SqliteConnection, scope: RunnableScope, limit: number, now: number): Candidate[];
  /** The earliest time, past or future, at which a job can be claimed. */
  nextAt(db: SqliteConnection, scope: RunnableScope): number | null;
  /** The same two for the pending jobs of a type without a group. */
  firstUngrouped(
    db: SqliteConnection,
    queue: string,
    typeName: string,
    limit: number,
    now: number,
  ): Candidate[];
  nextUngroupedAt(db: SqliteConnection, queue: string, typeName: string): number | null;
  /** The first jobs of each of these groups, up to `limit` of each. A job that has begun comes first, due or not. */
  headsOfGroups(
    db: SqliteConnection,
    claimKeys: readonly number[],
    limit: number,
    skip: number,
    now: number,
  ): QueueHead<number>[][];
  /** When the first pending job of a group is due; null without one. */
  groupDueAt(db: SqliteConnection, claimKey: number, now: number): number | null;
  /** The running jobs with an attempt left whose leases end by `until`, by that end. */
  leased(db: SqliteConnection, scope: RunnableScope, until?: number): LeasedJob[];
  /** The types of a queue with pending jobs. */
  typesOf(db: SqliteConnection, queue: string): string[];
  /** How many jobs would be claimed before the job in this place, up to `cap`. */
  countBefore(
    db: SqliteConnection,
    place: Place,
    call: Pick<CountAheadCall, "cap" | "typeNames" | "exceptTypeNames">,
    now: number,
  ): number;
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
  isExpired: true,
}));

const leasedRow = defineRow((columns): LeasedJob => ({
  id: columns.value("id"),
  typeName: columns.value("type_name"),
  group: columns.value("group_key", null),
  countedIn: columns.value("coalesce(counted_in, 0)"),
  leasedUntil: columns.value("leased_until"),
}));

const headRow = defineRow((columns) => ({
  order: columns.value<number | null>("group_order", null),
  at: columns.value<number>("scheduled_at"),
}));

const dueRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  at: columns.value<number>("scheduled_at"),
}));

export const createRunnable = (tables: Tables): Runnable => {
  const { job, pendingIndex, runningIndex, groupIndex } = tables;
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
  const expiredOf = (
    maxAttempts: string,
  ): { readonly all: string; readonly first: string; readonly leased: string } => ({
    leased: `SELECT ${leasedRow.columns} ${running(maxAttempts)} AND leased_until <= ? ORDER BY leased_until`,
    all: `SELECT ${expiredRow.columns} ${running(maxAttempts)} AND leased_until <= ?`,
    first: `SELECT leased_until ${running(maxAttempts)} ORDER BY leased_until LIMIT 1`,
  });
  const expired = expiredOf("max_attempts");
  const expiredByOverrides = expiredOf(`CASE WHEN max_attempts_explicit = 0
    THEN coalesce((SELECT value FROM json_each(?) WHERE key = type_name), max_attempts) ELSE max_attempts END`);
  const listExpired = `SELECT ${jobColumns(tables, "j")} FROM ${job} AS j INDEXED BY ${runningIndex}
    WHERE j.status = 'running' AND j.leased_until <= ? ORDER BY j.leased_until LIMIT ?`;

  const pendingInGroup = `FROM ${job} INDEXED BY ${groupIndex} WHERE claim_key =`;
  const headsOfGroups = `SELECT json_group_array(json((SELECT json_group_array(json_array(seq, priority, scheduled_at)) FROM
      (SELECT seq, scheduled_at, CASE WHEN group_order = ${begunOrder} THEN given_priority ELSE group_order END AS priority
        ${pendingInGroup} given.value
        AND group_order IS NOT NULL AND (scheduled_at <= ? OR group_order = ${begunOrder})
      ORDER BY group_order DESC, scheduled_at, seq LIMIT ? OFFSET ?)))) FROM json_each(?) AS given`;
  const headOfGroup = `SELECT ${headRow.columns} ${pendingInGroup} ? ORDER BY group_order DESC, scheduled_at LIMIT 1`;
  const earliestInGroup = `SELECT min(scheduled_at) ${pendingInGroup} ?`;

  // The jobs that precede the job in place `p` when it falls due.
  const goesFirst = (at: string): string => `j.queue = p.queue AND ${at} <= p.moment
    AND (p.types IS NULL OR j.type_name IN (SELECT value FROM json_each(p.types)))
    AND j.type_name NOT IN (SELECT value FROM json_each(p.others))
    AND (j.priority > p.priority OR j.priority = p.priority AND (${at} < p.at OR ${at} = p.at AND j.seq < p.seq))`;
  const countFirst = `WITH place (queue, priority, at, seq, moment, now, types, others) AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?))
    SELECT count(*) FROM (
      SELECT 1 FROM place AS p CROSS JOIN ${job} AS j INDEXED BY ${pendingIndex}
      WHERE j.status = 'pending' AND ${goesFirst("j.scheduled_at")}
      UNION ALL
      SELECT 1 FROM place AS p CROSS JOIN ${job} AS j INDEXED BY ${runningIndex}
      WHERE j.status = 'running' AND j.leased_until <= p.now AND j.attempt < j.max_attempts
        AND ${goesFirst("j.leased_until")}
      LIMIT ?)`;

  const typesOf = (db: SqliteConnection, queue: string): string[] => {
    const types: string[] = [];
    let type = firstText(db, firstType, [queue]);
    while (type !== undefined) {
      types.push(type);
      type = firstText(db, nextType, [queue, type]);
    }
    return types;
  };

  const typesIn = (db: SqliteConnection, { queue, typeNames }: RunnableScope): string[] =>
    typeNames === null ? typesOf(db, queue) : [...new Set(typeNames)];

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

  /** The first of these candidates and of the pending jobs of some types. */
  const firstWith = (
    db: SqliteConnection,
    candidates: Candidate[],
    queue: string,
    types: readonly string[],
    limit: number,
    now: number,
  ): Candidate[] => {
    // The priority that each type has got to.
    const levels = new Map<string, number>();
    const descend = (type: string, from?: number): void => {
      const priority = priorityBelow(db, queue, type, from);
      if (priority === undefined || priority === groupedPriority) levels.delete(type);
      else levels.set(type, priority);
    };
    for (const type of types) descend(type);

    // One priority after the other, across all types, until no lower priority can contribute.
    while (levels.size > 0) {
      const level = Math.max(...levels.values());
      const above = candidates.filter(({ priority }) => priority > level).length;
      if (above >= limit) break;
      for (const [type, priority] of levels) {
        if (priority !== level) continue;
        const found = dueRow.allOfText(db, due, [queue, type, level, now, limit - above]);
        for (const { seq, at } of found) candidates.push({ seq, priority, at });
        // When a range has filled the claim, lower priorities are not needed.
        if (found.length < limit - above) descend(type, level);
        else levels.delete(type);
      }
    }
    return candidates.sort(inClaimOrder).slice(0, limit);
  };

  const nextUngroupedAt = (db: SqliteConnection, queue: string, type: string): number | null => {
    let next: number | null = null;
    for (const priority of prioritiesOf(db, queue, type)) {
      if (priority === groupedPriority) break;
      const at = firstNumber(db, earliest, [queue, type, priority]);
      if (at !== undefined && (next === null || at < next)) next = at;
    }
    return next;
  };

  return {
    prioritiesOf,
    typesOf,
    nextUngroupedAt,
    first: (db, scope, limit, now) => {
      if (limit <= 0) return [];
      const [{ all }, values] = expiredIn(scope);
      const candidates = expiredRow.all(db, all, [...values, now]);
      return firstWith(db, candidates, scope.queue, typesIn(db, scope), limit, now);
    },
    firstUngrouped: (db, queue, typeName, limit, now) => firstWith(db, [], queue, [typeName], limit, now),
    nextAt: (db, scope) => {
      const [{ first }, values] = expiredIn(scope);
      let next = firstNumber(db, first, values) ?? null;
      for (const type of typesIn(db, scope)) {
        const at = nextUngroupedAt(db, scope.queue, type);
        if (at !== null && (next === null || at < next)) next = at;
      }
      return next;
    },
    headsOfGroups: (db, claimKeys, limit, skip, now) => {
      if (claimKeys.length === 0) return [];
      const [text] = db.first(headsOfGroups, [now, limit, skip, JSON.stringify(claimKeys)]) ?? [];
      const found = JSON.parse(text as string) as [number, number, number][][];
      return found.map((jobs) =>
        jobs.map(([job, priority, dueAt]) => ({ job, priority, dueAt, order: job })),
      );
    },
    groupDueAt: (db, claimKey, now) => {
      const head = headRow.first(db, headOfGroup, [claimKey]);
      if (head === undefined) return null;
      // What has begun goes first, and what is not due yet stands by time. Only after the clock was turned back, the rest
      // may contain jobs that are not due.
      if (head.order === null || head.order === begunOrder || head.at <= now) return head.at;
      return firstNumber(db, earliestInGroup, [claimKey]) ?? null;
    },
    leased: (db, scope, until = Number.MAX_SAFE_INTEGER) => {
      const [{ leased }, values] = expiredIn(scope);
      return leasedRow.all(db, leased, [...values, until]);
    },
    countBefore: (db, { queue, priority, at, seq }, { cap, typeNames, exceptTypeNames = [] }, now) => {
      const types = typeNames === undefined ? null : JSON.stringify(typeNames);
      const scope = [types, JSON.stringify(exceptTypeNames)];
      return (
        firstNumber(db, countFirst, [queue, priority, at, seq, Math.max(now, at), now, ...scope, cap]) ?? 0
      );
    },
    expired: (db, limit, now) => queryJobs(db, listExpired, [now, limit]),
  };
};
