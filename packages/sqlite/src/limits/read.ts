import {
  compareScopes,
  emptyLimitRule,
  type GroupUse,
  type LimitUse,
  selectGroups,
  tokensLeft,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { Runnable } from "../rows/runnable.ts";
import type { FindThrottle, PrepareThrottles } from "./explain.ts";
import { describeGroup, ruleStateRow } from "./group-rows.ts";
import type { Lane, Lanes, QueueRules } from "./rule-rows.ts";

type LineCounts = Pick<LimitUse, "claimableGroups" | "throttledGroups">;

const mostLines = 10_000;

export const prepareListFlow = (
  { job, lane: table, line, lineIndex, runningIndex }: Tables,
  runnable: Runnable,
  lanes: Lanes,
  throttles: PrepareThrottles,
): Operation<"listRules"> => {
  const dueRow = defineRow(describeGroup);
  const pending = `FROM ${job} AS j INDEXED BY ${lineIndex} WHERE j.line = line.number`;
  // Only lines that a claim has looked at since are neither open nor waiting for a moment, and yet have jobs.
  const listDue = `SELECT ${dueRow.columns} FROM ${line} AS line WHERE lane = ? AND (
      EXISTS (SELECT 1 ${pending} AND j.rank IS NOT NULL AND j.scheduled_at <= ?)
      OR EXISTS (SELECT 1 ${pending} AND j.rank IS NULL AND j.scheduled_at <= ?)) LIMIT ${2 * mostLines}`;
  const readState = `SELECT ${ruleStateRow.columns} FROM ${table} WHERE number = ?`;
  const hasGroups = `SELECT 1 WHERE EXISTS (SELECT 1 FROM ${line} AS line WHERE lane = ? AND group_key <> ''
      AND (stopped_by IS NOT NULL OR EXISTS (SELECT 1 ${pending})))
    OR EXISTS (SELECT 1 FROM ${job} INDEXED BY ${runningIndex}
      WHERE status = 'running' AND queue = ? AND type_name = ? AND group_key IS NOT NULL)`;

  const countLines = (
    db: SqliteConnection,
    queue: string,
    typeName: string,
    lane: Lane | undefined,
    findThrottle: FindThrottle,
    now: number,
  ): LineCounts => {
    let [claimableGroups, throttledGroups] = [0, 0];
    const add = (hold: unknown): void => {
      if (hold === null) claimableGroups += 1;
      else throttledGroups += 1;
    };
    if (runnable.firstOutside(db, queue, typeName, 1, now).length > 0)
      add(findThrottle({ seq: null, typeName, group: null }));
    if (lane !== undefined)
      for (const state of dueRow.all(db, listDue, [lane.number, now, now]))
        add(findThrottle({ seq: null, typeName, group: state }));
    return { claimableGroups, throttledGroups };
  };

  const countAll = (
    db: SqliteConnection,
    { own: { queue }, types }: QueueRules,
    typeNames: readonly string[],
    findThrottle: FindThrottle,
    now: number,
  ): LineCounts => {
    const counts = typeNames.map((name) => countLines(db, queue, name, types.get(name), findThrottle, now));
    const sum = (of: keyof LineCounts): number =>
      Math.min(
        mostLines,
        counts.reduce((total, each) => total + each[of], 0),
      );
    return { claimableGroups: sum("claimableGroups"), throttledGroups: sum("throttledGroups") };
  };

  return (db, { queue: wanted }, now) => {
    const all = lanes.read(db);
    const listed = [...all.all()].filter(
      ({ number, queue, typeName, rule }) =>
        (wanted === null || queue === wanted) &&
        (rule !== undefined ||
          (typeName !== null && db.first(hasGroups, [number, queue, typeName]) !== undefined)),
    );
    return listed
      .sort(compareScopes)
      .map(({ number, queue, typeName, rule = emptyLimitRule(queue, typeName) }): LimitUse => {
        const queueLanes = all.get(queue)!;
        const { running, bucketFullAt } = ruleStateRow.first(db, readState, [number])!;
        const types = typeName === null ? runnable.typesOf(db, queue) : [typeName];
        return {
          rule,
          running,
          tokens: rule.rate === null ? null : tokensLeft(rule.rate, bucketFullAt, now),
          ...countAll(db, queueLanes, types, throttles(db, queue, queueLanes, now), now),
        };
      });
  };
};

const mostLinesListGroups = 10_000;

const mostCounted = 1_000;

const runningRow = defineRow((columns) => ({
  group: columns.value<string>("group_key"),
  running: columns.value<number>("count(*)"),
}));

export const prepareListGroups = (
  { job, line, lineIndex, runningIndex }: Tables,
  lanes: Lanes,
  throttles: PrepareThrottles,
): Operation<"listGroups"> => {
  const due = `SELECT j.scheduled_at FROM ${job} AS j INDEXED BY ${lineIndex}
    WHERE j.line = line.number AND j.scheduled_at <= ?`;
  const waitingRow = defineRow((columns) => ({
    state: describeGroup(columns),
    waiting: columns.value<number>(`(SELECT count(*) FROM (${due} LIMIT ${mostCounted}))`),
    waitingSince: columns.value<number | null>(`(SELECT min(scheduled_at) FROM (${due}))`, null),
  }));
  const listWaiting = `SELECT ${waitingRow.columns} FROM ${line} AS line
    WHERE lane = ? AND group_key <> '' LIMIT ${mostLinesListGroups}`;
  // No more than the workers hold at once.
  const countRunning = `SELECT ${runningRow.columns} FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND queue = ? AND type_name = ? AND group_key IS NOT NULL GROUP BY group_key`;

  return (db, { queue, typeName, throttled, order, limit }, now) => {
    const queueLanes = lanes.read(db).get(queue);
    const lane = queueLanes?.types.get(typeName);
    if (queueLanes === undefined || lane === undefined) return [];
    const findThrottle = throttles(db, queue, queueLanes, now);
    const groups = new Map<string, GroupUse>();
    for (const { state, waiting, waitingSince } of waitingRow.all(db, listWaiting, [now, now, lane.number])) {
      const { group, stoppedBy } = state;
      const throttledBy =
        waiting === 0 ? null : (findThrottle({ seq: null, typeName, group: state })?.by ?? null);
      groups.set(group, { group, running: 0, waiting, waitingSince, throttledBy, stoppedBy });
    }
    for (const { group, running } of runningRow.all(db, countRunning, [queue, typeName])) {
      const idle = { group, waiting: 0, waitingSince: null, throttledBy: null, stoppedBy: null };
      groups.set(group, { ...(groups.get(group) ?? idle), running });
    }
    return selectGroups(groups.values(), { throttled, order, limit });
  };
};
