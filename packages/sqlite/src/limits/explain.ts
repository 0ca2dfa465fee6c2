import {
  countedIn,
  type CounterRepair,
  explainThrottle,
  type GroupState,
  type Throttle,
  newScopeState,
  type ThrottlingGroup,
  type ThrottlingScope,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { begunOrder, countingKey } from "../rows/job-table.ts";
import { groupRow, type LimitRuleRows, type QueueRules, rulesOver, ruleStateRow } from "./rule-rows.ts";

/** A pending job that is due. */
export interface DueJob {
  /** Null for the first job of its group that is due. */
  readonly seq: number | null;
  readonly typeName: string;
  /** Null for a job without a group. */
  readonly group: GroupState | null;
}

interface RunningJob {
  readonly id: string;
  readonly typeName: string;
  readonly group: string | null;
  readonly leasedUntil: number;
  readonly isLast: boolean;
}

/** Explains what throttles jobs of a queue, all at one time. */
export type FindThrottle = (job: DueJob) => Throttle | null;

const runningRow = defineRow((columns): RunningJob => ({
  id: columns.value("id"),
  typeName: columns.value("type_name"),
  group: columns.value("group_key", null),
  leasedUntil: columns.value("leased_until"),
  isLast: columns.holds("attempt >= max_attempts"),
}));

const waitingRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  id: columns.value<string>("id"),
  at: columns.value<number>("scheduled_at"),
  isBegun: columns.holds(`coalesce(group_order = ${begunOrder}, 0)`),
}));

// More than an explanation names.
const mostWaiting = 6;

// Of the jobs that fell due after the last claim.
const mostUnplaced = 1_000;

export type PrepareThrottles = (
  db: SqliteConnection,
  queue: string,
  rules: QueueRules,
  now: number,
) => FindThrottle;

export const prepareThrottles = ({ job, limitRule, runningIndex, groupIndex }: Tables): PrepareThrottles => {
  const readStates = `SELECT ${ruleStateRow.columns} FROM ${limitRule} WHERE queue = ?`;
  const listRunning = `SELECT ${runningRow.columns} FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND queue = ? ORDER BY leased_until`;
  // In the order of claims, including jobs that have fallen due since the last claim.
  const listWaiting = `SELECT ${waitingRow.columns} FROM ${job} INDEXED BY ${groupIndex}
    WHERE claim_key = ? AND (group_order = ${begunOrder} OR scheduled_at <= ?)
    ORDER BY coalesce(group_order, given_priority) DESC, scheduled_at, seq`;
  // The first of them. Reads a bounded number of jobs, however many wait in the group.
  const someWaiting = (condition: string, order: string, limit: number): string =>
    `SELECT * FROM (SELECT seq, id, scheduled_at, group_order, given_priority FROM ${job} INDEXED BY ${groupIndex}
      WHERE claim_key = ? AND ${condition} ORDER BY ${order} LIMIT ${limit})`;
  const listFirstWaiting = `SELECT ${waitingRow.columns} FROM (
      ${someWaiting(`group_order = ${begunOrder}`, "scheduled_at, seq", mostWaiting)} UNION ALL
      ${someWaiting(`group_order < ${begunOrder} AND scheduled_at <= ?`, "group_order DESC, scheduled_at, seq", mostWaiting)} UNION ALL
      ${someWaiting("group_order IS NULL AND scheduled_at <= ?", "scheduled_at", mostUnplaced)})
    ORDER BY coalesce(group_order, given_priority) DESC, scheduled_at, seq LIMIT ${mostWaiting}`;

  return (db, queue, rules, now) => {
    const states = new Map(ruleStateRow.all(db, readStates, [queue]).map((state) => [state.id, state]));
    let read: readonly RunningJob[] | undefined;
    const running = (): readonly RunningJob[] => (read ??= runningRow.all(db, listRunning, [queue]));
    /** Whether the lease has expired, so that the next claim frees the job and its slots. */
    const isFree = ({ leasedUntil, isLast }: RunningJob): boolean => leasedUntil <= now && !isLast;

    const scopeOf = (id: number | undefined, isIn: (each: RunningJob) => boolean): ThrottlingScope => {
      const state = (id === undefined ? undefined : states.get(id)) ?? newScopeState;
      return { ...state, holders: () => running().filter((each) => isIn(each) && !isFree(each)) };
    };

    /** The jobs of an ordered group that run before this one. */
    const findAhead = (
      { seq, typeName }: DueJob,
      { key, group }: GroupState,
    ): ReturnType<ThrottlingGroup["ahead"]> => {
      const waiting =
        seq === null
          ? waitingRow.all(db, listFirstWaiting, [key, key, now, key, now])
          : waitingRow.all(db, listWaiting, [key, now]);
      const place = waiting.findIndex((each) => (seq === null ? each.at <= now : each.seq === seq));
      const own = waiting[place];
      // A job that is requeued has begun: it precedes this one, unless this one began before.
      const begun = running().filter(
        (each) =>
          each.typeName === typeName &&
          each.group === group &&
          (!isFree(each) || own?.isBegun !== true || each.leasedUntil < own.at),
      );
      const before = place < 0 ? waiting : waiting.slice(0, place);
      const dueAt = begun.length === 0 ? (before[0]?.at ?? null) : null;
      return { jobs: [...begun, ...before], dueAt };
    };

    return (due) => {
      const { typeName, group } = due;
      const isOfType = (each: RunningJob): boolean => each.typeName === typeName;
      const ofGroup = group && {
        ...group,
        holders: () =>
          running().filter((each) => isOfType(each) && each.group === group.group && !isFree(each)),
        ahead: () => findAhead(due, group),
      };
      return explainThrottle(
        {
          queue,
          typeName,
          rules: rulesOver(rules, typeName),
          ofQueue: scopeOf(rules.own.id, () => true),
          ofType: scopeOf(rules.types.get(typeName)?.id, isOfType),
          ofGroup,
        },
        now,
      );
    };
  };
};

type Counter = CounterRepair["counters"][number];

/** A counter that differs from the number of running jobs that are counted there. */
interface Difference {
  readonly key: number;
  readonly queue: string;
  readonly typeName: string;
  readonly group: string | null;
  readonly was: number;
  readonly is: number;
}

const differenceOf = (key: string, group: string) =>
  defineRow((columns): Difference => ({
    key: columns.value(key),
    queue: columns.value("queue"),
    typeName: columns.value("type_name"),
    group: columns.value(group, null),
    was: columns.value("running"),
    is: columns.value("counted"),
  }));

export const prepareRepairCounters = (tables: Tables): Operation<"repairCounters"> => {
  const { job, limitRule, groupState, runningIndex } = tables;
  const running = `FROM ${job} AS j INDEXED BY ${runningIndex} WHERE j.status = 'running'`;
  const ruleDifference = differenceOf("id", "NULL");
  const groupDifference = differenceOf("claim_key", "group_key");
  // Counts the running jobs once, however many groups there are.
  const checkRules = `WITH slot AS (
      SELECT j.queue AS queue, j.type_name AS type_name ${running} AND j.counted_in & ${countedIn.type}
      UNION ALL SELECT j.queue, '' ${running} AND j.counted_in & ${countedIn.queue}),
    counting AS MATERIALIZED (SELECT queue, type_name, count(*) AS counted FROM slot GROUP BY queue, type_name)
    SELECT ${ruleDifference.columns} FROM (SELECT l.*, coalesce(c.counted, 0) AS counted FROM ${limitRule} AS l
      LEFT JOIN counting AS c ON c.queue = l.queue AND c.type_name = l.type_name)
    WHERE running <> counted ORDER BY queue, type_name`;
  const checkGroups = `WITH counting AS MATERIALIZED (SELECT ${countingKey("j.counted_in")} AS claim_key, count(*) AS counted
      ${running} AND j.counted_in & ${countedIn.group} GROUP BY 1)
    SELECT ${groupDifference.columns} FROM (SELECT g.claim_key, l.queue, l.type_name, g.group_key, g.running,
        coalesce(c.counted, 0) AS counted
      FROM ${groupState} AS g CROSS JOIN ${limitRule} AS l ON l.id = g.limit_rule_id
      LEFT JOIN counting AS c ON c.claim_key = g.claim_key)
    WHERE running <> counted ORDER BY queue, type_name, group_key`;
  const setRule = `UPDATE ${limitRule} SET running = ? WHERE id = ?`;
  const setGroup = `UPDATE ${groupState} SET running = ?, claimable = 1 WHERE claim_key = ?`;

  return (db, { repair }) => {
    const ofRules = ruleDifference.all(db, checkRules, []);
    const ofGroups = groupDifference.all(db, checkGroups, []);
    if (repair) {
      for (const { key, is } of ofRules) db.run(setRule, [is, key]);
      for (const { key, is } of ofGroups) db.run(setGroup, [is, key]);
    }
    const counters = [...ofRules, ...ofGroups].map(({ queue, typeName, group, was, is }): Counter => ({
      queue,
      typeName: typeName === "" ? null : typeName,
      group,
      was,
      is,
    }));
    return { counters };
  };
};

const dueRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  claimKey: columns.value<number | null>("claim_key", null),
}));

export const prepareExplainThrottle = (
  { job, groupState }: Tables,
  limitRules: LimitRuleRows,
  throttles: PrepareThrottles,
): Operation<"explainThrottle"> => {
  const findDue = `SELECT ${dueRow.columns} FROM ${job} WHERE id = ? AND status = 'pending' AND scheduled_at <= ?`;
  const findGroup = `SELECT ${groupRow.columns} FROM ${groupState} WHERE claim_key = ?`;
  return (db, { jobId }, now) => {
    const due = dueRow.first(db, findDue, [jobId, now]);
    const rules = due === undefined ? undefined : limitRules.read(db).get(due.queue);
    if (due === undefined || rules === undefined) return null;
    const { seq, queue, typeName, claimKey } = due;
    const group = claimKey === null ? undefined : groupRow.first(db, findGroup, [claimKey]);
    return throttles(db, queue, rules, now)({ seq, typeName, group: group ?? null });
  };
};
