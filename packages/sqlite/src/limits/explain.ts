import {
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
import { begunRank, countingLine, slotOf } from "../rows/places.ts";
import { groupRow, ruleStateRow } from "./group-rows.ts";
import { type Lanes, type QueueRules, rulesOver } from "./rule-rows.ts";

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
  isBegun: columns.holds(`coalesce(rank = ${begunRank}, 0)`),
}));

// More than an explanation names.
const mostWaiting = 6;

export type PrepareThrottles = (
  db: SqliteConnection,
  queue: string,
  rules: QueueRules,
  now: number,
) => FindThrottle;

export const prepareThrottles = ({ job, lane, runningIndex, lineIndex }: Tables): PrepareThrottles => {
  const readStates = `SELECT ${ruleStateRow.columns} FROM ${lane} WHERE queue = ?`;
  const listRunning = `SELECT ${runningRow.columns} FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND queue = ? ORDER BY leased_until`;
  // In the order of claims, including jobs that have fallen due since the last claim.
  const listWaiting = `SELECT ${waitingRow.columns} FROM ${job} INDEXED BY ${lineIndex}
    WHERE line = ? AND (rank = ${begunRank} OR scheduled_at <= ?)
    ORDER BY coalesce(rank, given_priority) DESC, scheduled_at, seq LIMIT ?`;

  return (db, queue, rules, now) => {
    const states = new Map(ruleStateRow.all(db, readStates, [queue]).map((state) => [state.number, state]));
    let read: readonly RunningJob[] | undefined;
    const running = (): readonly RunningJob[] => (read ??= runningRow.all(db, listRunning, [queue]));
    /** Whether the lease has expired, so that the next claim frees the job and its slots. */
    const isFree = ({ leasedUntil, isLast }: RunningJob): boolean => leasedUntil <= now && !isLast;

    const scopeOf = (number: number | undefined, isIn: (each: RunningJob) => boolean): ThrottlingScope => {
      const state = (number === undefined ? undefined : states.get(number)) ?? newScopeState;
      return { ...state, holders: () => running().filter((each) => isIn(each) && !isFree(each)) };
    };

    /** The jobs of an ordered group that run before this one. */
    const findAhead = (
      { seq, typeName }: DueJob,
      { key, group }: GroupState,
    ): ReturnType<ThrottlingGroup["ahead"]> => {
      const limit = seq === null ? mostWaiting : -1;
      const waiting = waitingRow.all(db, listWaiting, [key, now, limit]);
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
          ofQueue: scopeOf(rules.own.number, () => true),
          ofType: scopeOf(rules.types.get(typeName)?.number, isOfType),
          ofGroup,
        },
        now,
      );
    };
  };
};

type Counter = CounterRepair["counters"][number];

/** A counter that differs from the running jobs that say that they are counted there. */
interface Difference {
  readonly number: number;
  readonly queue: string;
  readonly typeName: string;
  readonly group: string | null;
  readonly was: number;
  readonly is: number;
}

const differenceOf = (group: string) =>
  defineRow((columns): Difference => ({
    number: columns.value("number"),
    queue: columns.value("queue"),
    typeName: columns.value("type_name"),
    group: columns.value(group, null),
    was: columns.value("running"),
    is: columns.value("counted"),
  }));

export const prepareCheckFlow = ({ job, lane, line, runningIndex }: Tables): Operation<"repairCounters"> => {
  const running = `FROM ${job} AS j INDEXED BY ${runningIndex} WHERE j.status = 'running'`;
  const laneRow = differenceOf("NULL");
  const groupDifferenceRow = differenceOf("group_key");
  // Counts the running jobs once and compares, however many lines there are.
  const checkLanes = `WITH slot AS (
      SELECT j.queue AS queue, j.type_name AS type_name ${running} AND j.slots & ${slotOf.type}
      UNION ALL SELECT j.queue, '' ${running} AND j.slots & ${slotOf.queue}),
    counting AS MATERIALIZED (SELECT queue, type_name, count(*) AS counted FROM slot GROUP BY queue, type_name)
    SELECT ${laneRow.columns} FROM (SELECT l.*, coalesce(c.counted, 0) AS counted FROM ${lane} AS l
      LEFT JOIN counting AS c ON c.queue = l.queue AND c.type_name = l.type_name)
    WHERE running <> counted ORDER BY queue, type_name`;
  const checkLines = `WITH counting AS MATERIALIZED
      (SELECT ${countingLine("j.slots")} AS line, count(*) AS counted ${running} AND j.slots & ${slotOf.line} GROUP BY 1)
    SELECT ${groupDifferenceRow.columns} FROM (SELECT line.number, l.queue, l.type_name, line.group_key, line.running,
        coalesce(c.counted, 0) AS counted
      FROM ${line} AS line CROSS JOIN ${lane} AS l ON l.number = line.lane LEFT JOIN counting AS c ON c.line = line.number)
    WHERE running <> counted ORDER BY queue, type_name, group_key`;
  const setLane = `UPDATE ${lane} SET running = ? WHERE number = ?`;
  const setLine = `UPDATE ${line} SET running = ?, open = 1 WHERE number = ?`;

  return (db, { repair }) => {
    const ofLanes = laneRow.all(db, checkLanes, []);
    const ofLines = groupDifferenceRow.all(db, checkLines, []);
    if (repair) {
      for (const { number, is } of ofLanes) db.run(setLane, [is, number]);
      for (const { number, is } of ofLines) db.run(setLine, [is, number]);
    }
    const counters = [...ofLanes, ...ofLines].map(({ queue, typeName, group, was, is }): Counter => ({
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
  line: columns.value<number | null>("line", null),
}));

export const prepareExplainThrottle = (
  { job, line }: Tables,
  lanes: Lanes,
  throttles: PrepareThrottles,
): Operation<"explainThrottle"> => {
  const findDue = `SELECT ${dueRow.columns} FROM ${job} WHERE id = ? AND status = 'pending' AND scheduled_at <= ?`;
  const findGroup = `SELECT ${groupRow.columns} FROM ${line} WHERE number = ?`;
  return (db, { jobId }, now) => {
    const due = dueRow.first(db, findDue, [jobId, now]);
    const rules = due === undefined ? undefined : lanes.read(db).get(due.queue);
    if (due === undefined || rules === undefined) return null;
    const { seq, queue, typeName } = due;
    const group = due.line === null ? undefined : groupRow.first(db, findGroup, [due.line]);
    return throttles(db, queue, rules, now)({ seq, typeName, group: group ?? null });
  };
};
