import type { SqliteConnection } from "../database/connection.ts";
import { defineRow, type Row } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { PrepareThrottles } from "./explain.ts";
import { groupRow, type LimitRuleRows } from "./rule-rows.ts";

/** The due jobs of a group queue or of a type. */
export interface DueCounts {
  readonly runnable: number;
  readonly throttled: number;
  readonly overdue: number;
  /** Of the runnable ones. */
  readonly oldest: number | null;
}

/** Reads the due jobs of the queues with rules or groups, all at one time. */
export interface DueJobs {
  /** Whether a rule of the queue or type throttles every job of the type. */
  isThrottled(queue: string, typeName: string): boolean;
  /** The due jobs of a type that have a group, up to `limit`. Undefined if the type has no groups. */
  inGroups(queue: string, typeName: string, cap: number, limit: number): DueCounts | undefined;
}

export type PrepareDueJobs = (db: SqliteConnection, now: number) => DueJobs;

/** For a job under the alias `j` that is pending; one parameter, the time. */
export const isOverdueSql =
  "(j.attempt = 0 AND j.expire_after_ms IS NOT NULL AND j.scheduled_at + j.expire_after_ms <= ?)";

/** `late` marks the jobs that have waited too long. */
export const dueCountsRow: Row<{
  readonly count: number;
  readonly overdue: number;
  readonly oldest: number | null;
}> = defineRow((columns) => ({
  count: columns.value<number>("count(*)"),
  overdue: columns.value<number>("coalesce(sum(late), 0)"),
  oldest: columns.value<number | null>("min(CASE WHEN late THEN NULL ELSE at END)", null),
}));

const headRow = defineRow((columns) => ({
  at: columns.value<number>("at"),
  isOverdue: columns.holds("late"),
}));

const mostGroups = 10_000;

export const prepareDueJobs = (
  { job, groupState, groupIndex }: Tables,
  limitRules: LimitRuleRows,
  throttles: PrepareThrottles,
): PrepareDueJobs => {
  // Jobs that fell due after the last claim have no `group_order`. They are one range of the index by time.
  const pending = `FROM ${job} AS j INDEXED BY ${groupIndex} WHERE j.claim_key =`;
  const placed = "j.group_order IS NOT NULL AND j.scheduled_at <= ?";
  const unplaced = "j.group_order IS NULL AND j.scheduled_at <= ?";
  const columns = `j.seq, j.scheduled_at AS at, ${isOverdueSql} AS late, coalesce(j.group_order, j.given_priority) AS place`;
  const listDue = `SELECT ${groupRow.columns} FROM ${groupState} AS g WHERE g.limit_rule_id = ? AND (
      EXISTS (SELECT 1 ${pending} g.claim_key AND ${placed}) OR EXISTS (SELECT 1 ${pending} g.claim_key AND ${unplaced}))
    LIMIT ${mostGroups}`;
  const due = (order: string): string =>
    `(SELECT * FROM (SELECT ${columns} ${pending} ? AND ${placed} ${order} LIMIT ?)
      UNION ALL SELECT * FROM (SELECT ${columns} ${pending} ? AND ${unplaced} ORDER BY j.scheduled_at LIMIT ?))`;
  const count = `SELECT ${dueCountsRow.columns} FROM ${due("")}`;
  const findHead = `SELECT ${headRow.columns} FROM ${due("ORDER BY j.group_order DESC, j.scheduled_at, j.seq")}
    ORDER BY place DESC, at, seq LIMIT 1`;

  return (db, now) => {
    const allRules = limitRules.read(db);
    const found = new Map<string, ReturnType<PrepareThrottles>>();
    const throttlesOf = (queue: string): ReturnType<PrepareThrottles> | undefined => {
      const rules = allRules.get(queue);
      if (rules === undefined) return undefined;
      const findThrottle = found.get(queue) ?? throttles(db, queue, rules, now);
      found.set(queue, findThrottle);
      return findThrottle;
    };

    return {
      isThrottled: (queue, typeName) =>
        (throttlesOf(queue)?.({ seq: null, typeName, group: null }) ?? null) !== null,
      inGroups: (queue, typeName, cap, limit) => {
        const row = allRules.get(queue)?.types.get(typeName);
        const findThrottle = throttlesOf(queue);
        if (row === undefined || findThrottle === undefined) return undefined;
        let [runnable, throttled, overdue, read] = [0, 0, 0, 0];
        let oldest: number | null = null;
        const addRunnable = (more: number, since: number | null): void => {
          runnable += more;
          if (since !== null) oldest = Math.min(oldest ?? since, since);
        };
        for (const group of groupRow.all(db, listDue, [row.id, now, now])) {
          if (read >= limit) break;
          const values = [now, group.key, now, cap, now, group.key, now, cap];
          const counted = dueCountsRow.first(db, count, values)!;
          read += counted.count;
          overdue += counted.overdue;
          const inTime = counted.count - counted.overdue;
          if (findThrottle({ seq: null, typeName, group }) !== null) throttled += inTime;
          else if (group.isOrdered) {
            const head = headRow.first(db, findHead, values);
            const isRunnable = head !== undefined && !head.isOverdue;
            if (isRunnable) addRunnable(1, head.at);
            throttled += inTime - Number(isRunnable);
          } else addRunnable(inTime, counted.oldest);
        }
        return { runnable, throttled, overdue, oldest };
      },
    };
  };
};
