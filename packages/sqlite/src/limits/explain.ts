import {
  findReachedLimit,
  type LimitValues,
  type CounterRepair,
  type LimitRule,
  type Hold,
  type ThrottleReason,
  type LimitsInUse,
  nextTokenAt,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { begunRank, countingLine, slotOf } from "../rows/places.ts";
import { emptyLane, laneStateRow, limitsOf, lineRow, type LineState } from "./group-rows.ts";
import { type Lanes, type QueueRules, rulesOver } from "./rule-rows.ts";

const mostIds = 5;

/** A pending job that is due. */
export interface HeldJob {
  /** Null for the first of its line. */
  readonly seq: number | null;
  readonly typeName: string;
  /** Null for a job that is in no line. */
  readonly line: LineState | null;
}

interface RunningJob {
  readonly id: string;
  readonly typeName: string;
  readonly group: string | null;
  readonly leasedUntil: number;
  readonly isLast: boolean;
}

/** Says what holds jobs of a queue back, all as of one moment. */
export type FindHold = (job: HeldJob) => Hold | null;

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

export type PrepareHolds = (db: SqliteConnection, queue: string, lanes: QueueRules, now: number) => FindHold;

export const prepareHolds = ({ job, lane, runningIndex, lineIndex }: Tables): PrepareHolds => {
  const readStates = `SELECT ${laneStateRow.columns} FROM ${lane} WHERE queue = ?`;
  const listRunning = `SELECT ${runningRow.columns} FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND queue = ? ORDER BY leased_until`;
  // In the order of claims, with those that have fallen due since the last one.
  const listWaiting = `SELECT ${waitingRow.columns} FROM ${job} INDEXED BY ${lineIndex}
    WHERE line = ? AND (rank = ${begunRank} OR scheduled_at <= ?)
    ORDER BY coalesce(rank, given_priority) DESC, scheduled_at, seq LIMIT ?`;

  return (db, queue, lanes, now) => {
    const states = new Map(laneStateRow.all(db, readStates, [queue]).map((state) => [state.number, state]));
    let read: readonly RunningJob[] | undefined;
    const running = (): readonly RunningJob[] => (read ??= runningRow.all(db, listRunning, [queue]));
    /** Whether a claim would put it back, because its lease has expired. */
    const isFree = ({ leasedUntil, isLast }: RunningJob): boolean => leasedUntil <= now && !isLast;

    const hold = (by: ThrottleReason, scope: Partial<Hold>, details: Partial<Hold> = {}): Hold => ({
      by,
      queue,
      typeName: null,
      group: null,
      limit: null,
      inUse: null,
      claimableAt: null,
      jobIds: [],
      ...scope,
      ...details,
    });
    const idsOf = (jobs: readonly { readonly id: string }[]): string[] =>
      jobs.slice(0, mostIds).map(({ id }) => id);

    const byLimits = (
      limits: LimitValues,
      use: LimitsInUse,
      scope: Partial<Hold>,
      isIn: (each: RunningJob) => boolean,
    ): Hold | null => {
      if (findReachedLimit(limits, use, now) === "concurrency") {
        const holders = running().filter((each) => isIn(each) && !isFree(each));
        const { concurrency: limit } = limits;
        if (holders.length >= limit!)
          return hold("concurrency", scope, { limit, inUse: holders.length, jobIds: idsOf(holders) });
      }
      // Slots whose leases have expired come free with the next claim; that leaves the rate.
      const { rate } = limits;
      if (rate === null || findReachedLimit({ concurrency: null, rate }, use, now) === null) return null;
      return hold("rate", scope, { limit: rate.limit, claimableAt: nextTokenAt(rate, use.tat, now) });
    };

    const byRule = (
      rule: LimitRule | undefined,
      number: number | undefined,
      scope: Partial<Hold>,
      isIn: (each: RunningJob) => boolean,
    ): Hold | null => {
      if (rule === undefined) return null;
      const use = (number === undefined ? undefined : states.get(number)) ?? emptyLane;
      return rule.paused ? hold("paused", scope) : byLimits(rule, use, scope, isIn);
    };

    /** The jobs of an ordered line that this one waits for. */
    const byOrder = ({ seq, typeName }: HeldJob, line: LineState, scope: Partial<Hold>): Hold | null => {
      const limit = seq === null ? mostIds + 1 : -1;
      const waiting = waitingRow.all(db, listWaiting, [line.number, now, limit]);
      const place = waiting.findIndex((each) => (seq === null ? each.at <= now : each.seq === seq));
      const own = waiting[place];
      // Once put back, it has begun; and so goes first, unless this one began before.
      const ahead = running().filter(
        (each) =>
          each.typeName === typeName &&
          each.group === line.group &&
          (!isFree(each) || own?.isBegun !== true || each.leasedUntil < own.at),
      );
      const before = place < 0 ? waiting : waiting.slice(0, place);
      if (ahead.length + before.length === 0) return null;
      const [first] = before;
      const claimableAt = ahead.length === 0 && first !== undefined && first.at > now ? first.at : null;
      return hold("order", scope, { claimableAt, jobIds: idsOf([...ahead, ...before]) });
    };

    return (held) => {
      const { typeName, line } = held;
      const lane = lanes.types.get(typeName);
      const over = rulesOver(lanes, typeName);
      const isOfType = (each: RunningJob): boolean => each.typeName === typeName;
      const outer =
        byRule(lanes.own.rule, lanes.own.number, {}, () => true) ??
        byRule(lane?.rule, lane?.number, { typeName }, isOfType);
      if (outer !== null || line === null || line.group === "") return outer;
      const { group, stoppedBy } = line;
      const scope = { typeName, group };
      if (stoppedBy !== null) return hold("stopped", scope, { jobIds: [stoppedBy] });
      return (
        (line.isOrdered ? byOrder(held, line, scope) : null) ??
        byLimits(limitsOf(over, line), line, scope, (each) => isOfType(each) && each.group === group)
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
  const lineRow = differenceOf("group_key");
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
    SELECT ${lineRow.columns} FROM (SELECT line.number, l.queue, l.type_name, line.group_key, line.running,
        coalesce(c.counted, 0) AS counted
      FROM ${line} AS line CROSS JOIN ${lane} AS l ON l.number = line.lane LEFT JOIN counting AS c ON c.line = line.number)
    WHERE running <> counted ORDER BY queue, type_name, group_key`;
  const setLane = `UPDATE ${lane} SET running = ? WHERE number = ?`;
  const setLine = `UPDATE ${line} SET running = ?, open = 1 WHERE number = ?`;

  return (db, { repair }) => {
    const ofLanes = laneRow.all(db, checkLanes, []);
    const ofLines = lineRow.all(db, checkLines, []);
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

export const prepareExplainHold = (
  { job, line }: Tables,
  lanes: Lanes,
  holds: PrepareHolds,
): Operation<"explainThrottle"> => {
  const findDue = `SELECT ${dueRow.columns} FROM ${job} WHERE id = ? AND status = 'pending' AND scheduled_at <= ?`;
  const findLine = `SELECT ${lineRow.columns} FROM ${line} WHERE number = ?`;
  return (db, { jobId }, now) => {
    const due = dueRow.first(db, findDue, [jobId, now]);
    const queueLanes = due === undefined ? undefined : lanes.read(db).get(due.queue);
    if (due === undefined || queueLanes === undefined) return null;
    const { seq, queue, typeName } = due;
    const state = due.line === null ? undefined : lineRow.first(db, findLine, [due.line]);
    return holds(db, queue, queueLanes, now)({ seq, typeName, line: state ?? null });
  };
};
