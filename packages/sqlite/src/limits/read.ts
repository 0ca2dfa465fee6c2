import {
  byBytes,
  compareScopes,
  describePause,
  emptyLimitRule,
  groupsToRead,
  type GroupUse,
  type LimitUse,
  readUpTo,
  ruleAt,
  selectGroups,
  tokensLeft,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { Runnable } from "../rows/runnable.ts";
import type { FindThrottle, PrepareThrottles } from "./explain.ts";
import {
  describeGroup,
  groupRow,
  type LimitRuleRow,
  type LimitRuleRows,
  type QueueRules,
  ruleStateRow,
} from "./rule-rows.ts";

type GroupCounts = Pick<LimitUse, "claimableGroups" | "throttledGroups">;

const mostGroups = 10_000;

export const prepareListRules = (
  { job, limitRule, groupState, groupIndex, runningIndex }: Tables,
  runnable: Runnable,
  limitRules: LimitRuleRows,
  throttles: PrepareThrottles,
): Operation<"listRules"> => {
  const pending = `FROM ${job} AS j INDEXED BY ${groupIndex} WHERE j.claim_key = g.claim_key`;
  const listDue = `SELECT ${groupRow.columns} FROM ${groupState} AS g WHERE limit_rule_id = ? AND (
      EXISTS (SELECT 1 ${pending} AND j.group_order IS NOT NULL AND j.scheduled_at <= ?)
      OR EXISTS (SELECT 1 ${pending} AND j.group_order IS NULL AND j.scheduled_at <= ?)) LIMIT ${2 * mostGroups}`;
  const readState = `SELECT ${ruleStateRow.columns} FROM ${limitRule} WHERE id = ?`;
  const hasGroups = `SELECT 1 WHERE EXISTS (SELECT 1 FROM ${groupState} AS g WHERE limit_rule_id = ?
      AND (stopped_by IS NOT NULL OR EXISTS (SELECT 1 ${pending})))
    OR EXISTS (SELECT 1 FROM ${job} INDEXED BY ${runningIndex}
      WHERE status = 'running' AND queue = ? AND type_name = ? AND group_key IS NOT NULL)`;

  const countGroups = (
    db: SqliteConnection,
    queue: string,
    typeName: string,
    row: LimitRuleRow | undefined,
    findThrottle: FindThrottle,
    now: number,
  ): GroupCounts => {
    let [claimableGroups, throttledGroups] = [0, 0];
    const add = (throttle: unknown): void => {
      if (throttle === null) claimableGroups += 1;
      else throttledGroups += 1;
    };
    if (runnable.firstUngrouped(db, queue, typeName, 1, now).length > 0)
      add(findThrottle({ seq: null, typeName, group: null }));
    if (row !== undefined)
      for (const group of groupRow.all(db, listDue, [row.id, now, now]))
        add(findThrottle({ seq: null, typeName, group }));
    return { claimableGroups, throttledGroups };
  };

  const countAll = (
    db: SqliteConnection,
    { own: { queue }, types }: QueueRules,
    typeNames: readonly string[],
    findThrottle: FindThrottle,
    now: number,
  ): GroupCounts => {
    const counts = typeNames.map((name) => countGroups(db, queue, name, types.get(name), findThrottle, now));
    const sum = (of: keyof GroupCounts): number =>
      Math.min(
        mostGroups,
        counts.reduce((total, each) => total + each[of], 0),
      );
    return { claimableGroups: sum("claimableGroups"), throttledGroups: sum("throttledGroups") };
  };

  return (db, { queue: wanted }, now) => {
    const all = limitRules.read(db);
    const listed = [...all.all()].filter(
      ({ id, queue, typeName, rule }) =>
        (wanted === null || queue === wanted) &&
        (rule !== undefined ||
          (typeName !== null && db.first(hasGroups, [id, queue, typeName]) !== undefined)),
    );
    return listed
      .sort(compareScopes)
      .map(({ id, queue, typeName, rule: stored = emptyLimitRule(queue, typeName) }): LimitUse => {
        const rule = ruleAt(stored, now);
        const rules = all.get(queue)!;
        const { running, bucketFullAt } = ruleStateRow.first(db, readState, [id])!;
        const types = typeName === null ? runnable.typesOf(db, queue) : [typeName];
        return {
          rule,
          running,
          tokens: rule.rate === null ? null : tokensLeft(rule.rate, bucketFullAt, now),
          ...countAll(db, rules, types, throttles(db, queue, rules, now), now),
        };
      });
  };
};

const mostCounted = 1_000;

const runningRow = defineRow((columns) => ({
  group: columns.value<string>("group_key"),
  running: columns.value<number>("count(*)"),
}));

export const prepareListGroups = (
  { job, groupState, groupIndex, runningIndex }: Tables,
  limitRules: LimitRuleRows,
  throttles: PrepareThrottles,
): Operation<"listGroups"> => {
  const due = `SELECT j.scheduled_at FROM ${job} AS j INDEXED BY ${groupIndex}
    WHERE j.claim_key = g.claim_key AND j.scheduled_at <= ?`;
  const waitingRow = defineRow((columns) => ({
    state: describeGroup(columns),
    waiting: columns.value<number>(`(SELECT count(*) FROM (${due} LIMIT ${mostCounted}))`),
    waitingSince: columns.value<number | null>(`(SELECT min(scheduled_at) FROM (${due}))`, null),
  }));
  const listWaiting = `SELECT ${waitingRow.columns} FROM ${groupState} AS g
    WHERE limit_rule_id = ? AND group_key > ? ORDER BY group_key LIMIT ?`;
  // Reads as many rows as jobs are running.
  const countRunning = `SELECT ${runningRow.columns} FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND queue = ? AND type_name = ? AND group_key > ? GROUP BY group_key`;

  return (db, call, now) => {
    const { queue, typeName, order, limit } = call;
    const rules = limitRules.read(db).get(queue);
    const row = rules?.types.get(typeName);
    if (rules === undefined || row === undefined) return { groups: [], next: null };
    const after = order === "name" ? (call.after ?? "") : "";
    const most = order === "name" ? groupsToRead(limit) : mostGroups;
    const findThrottle = throttles(db, queue, rules, now);
    const groups = new Map<string, GroupUse>();
    for (const { state, waiting, waitingSince } of waitingRow.all(db, listWaiting, [
      now,
      now,
      row.id,
      after,
      most,
    ])) {
      const { group, stoppedBy } = state;
      const pause = describePause(state.pausedUntil, now);
      const throttledBy =
        waiting === 0 ? null : (findThrottle({ seq: null, typeName, group: state })?.by ?? null);
      groups.set(group, { group, running: 0, waiting, waitingSince, throttledBy, stoppedBy, ...pause });
    }
    for (const { group, running } of runningRow.all(db, countRunning, [queue, typeName, after])) {
      const idle = {
        group,
        waiting: 0,
        waitingSince: null,
        throttledBy: null,
        stoppedBy: null,
        ...describePause(null, now),
      };
      groups.set(group, { ...(groups.get(group) ?? idle), running });
    }
    if (order !== "name") return selectGroups(groups.values(), call, null);
    // Of running groups all were read. Behind the last of these names there may be groups with waiting jobs.
    const names = [...groups.keys()].sort(byBytes).slice(0, most);
    return selectGroups(
      names.map((name) => groups.get(name)!),
      call,
      readUpTo(names, limit),
    );
  };
};
