import {
  findReachedLimit,
  type LimitValues,
  type CounterRepair,
  type LimitRule,
  type Throttle,
  type ThrottleReason,
  limitsOfGroup,
  nextTokenAt,
} from "leasehold/adapter";
import type { Call, Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { clockCte, isNull, now as nowOf, numberOrNull, text, textList, textOrNull } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { attemptsLeftSql, isDue, runsBeforeSql } from "../rows/runnable.ts";
import { readRules } from "./read.ts";

// Whatever happens at the same time changes a counter, or leaves a note, in the transaction in which it changes a job. One
// statement sees all three as they were at one moment, so nothing has to be locked. What differs is corrected by a note.
const checkSql = ({ job, line, lineNote, flowUse, flowRule }: Tables, repair: boolean): string => `
WITH counter AS (
  SELECT l.queue, l.home, l.number AS line, l.group_key, 1 AS slot, l.running AS count FROM ${line} AS l WHERE l.number <> l.home
  UNION ALL SELECT u.queue, u.home, u.home, NULL, CASE WHEN u.home = 0 THEN 4 ELSE 2 END, u.running FROM ${flowUse} AS u
  UNION ALL SELECT n.queue, n.home, n.line, n.group_key, 1, -n.freed FROM ${lineNote} AS n WHERE n.line <> n.home
  UNION ALL SELECT n.queue, n.home, n.home, NULL, 2, -n.type_freed FROM ${lineNote} AS n
  UNION ALL SELECT n.queue, 0, 0, NULL, 4, -n.queue_freed FROM ${lineNote} AS n
),
held AS (
  SELECT j.queue, coalesce(j.home, j.lane) AS home, j.lane, j.group_key, j.slots FROM ${job} AS j
  WHERE j.status = 'running' AND j.slots IS NOT NULL
),
running AS (
  SELECT queue, home, lane AS line, group_key, 1 AS slot FROM held WHERE slots & 1 <> 0
  UNION ALL SELECT queue, home, home, NULL, 2 FROM held WHERE slots & 2 <> 0
  UNION ALL SELECT queue, 0, 0, NULL, 4 FROM held WHERE slots & 4 <> 0
),
compared AS (
  SELECT queue, home, line, slot, max(group_key) AS group_key, sum(was) AS was, sum(is_now) AS is_now FROM (
    SELECT queue, home, line, slot, group_key, count AS was, 0 AS is_now FROM counter
    UNION ALL SELECT queue, home, line, slot, group_key, 0, 1 FROM running
  ) AS both_sides GROUP BY queue, home, line, slot HAVING sum(was) <> sum(is_now)
)
${
  repair
    ? `, repaired AS (
  INSERT INTO ${lineNote} (queue, home, line, group_key, freed, type_freed, queue_freed)
  SELECT queue, home, line, group_key, CASE WHEN slot = 1 THEN was - is_now ELSE 0 END,
    CASE WHEN slot = 2 THEN was - is_now ELSE 0 END, CASE WHEN slot = 4 THEN was - is_now ELSE 0 END
  FROM compared
)`
    : ""
}
SELECT c.queue, c.slot, r.type_name, c.group_key, c.was, c.is_now
FROM compared AS c LEFT JOIN ${flowRule} AS r ON r.queue = c.queue AND r.home = c.home
ORDER BY c.queue, c.slot DESC, c.line`;

export const repairCounters = async (
  { query, tables }: Database,
  call: Call & { readonly repair: boolean },
): Promise<CounterRepair> => {
  const rows = await query(call.ctx, { sql: checkSql(tables, call.repair), params: [] });
  return {
    counters: rows.map((row) => ({
      queue: text(row["queue"]),
      typeName: Number(row["slot"]) === 4 ? null : textOrNull(row["type_name"]),
      group: textOrNull(row["group_key"]),
      was: Number(row["was"]),
      is: Number(row["is_now"]),
    })),
  };
};

// Nothing here waits, or reads what only a claim may write under the lock of the queue: running jobs are counted instead of
// asking the counters. That is the same, for they are counted in the transactions that make them run.

type ExplainCall = Call & { readonly jobId: string };

const mostIds = 5;

/** A claim would put this running job back, and count it no longer. */
const isFree = `${isDue} AND ${attemptsLeftSql("j")}`;

const jobSql = ({ job, line, idType }: Tables): string => `
WITH ${clockCte("$1")}
SELECT j.queue, j.type_name, j.group_key, j.ordered, j.lane, coalesce(j.home, j.lane) AS home,
  coalesce(l.tat, 0) AS tat, l.stopped_by, coalesce(l.ordered, false) AS line_ordered
FROM ${job} AS j LEFT JOIN ${line} AS l ON l.number = j.lane AND j.home IS NOT NULL
WHERE j.id = $2::${idType} AND j.status = 'pending' AND ${isDue}`;

const holdersSql = ({ job }: Tables, scope: string): string => `
WITH ${clockCte("$1")},
holder AS MATERIALIZED (
  SELECT j.id FROM ${job} AS j
  WHERE j.status = 'running' AND j.queue = $2::text AND j.slots & $3::int <> 0 AND ${scope} AND NOT (${isFree})
)
SELECT (SELECT count(*) FROM holder) AS count,
  (SELECT coalesce(array_to_json(array_agg(id))::text, '[]') FROM (SELECT id FROM holder LIMIT ${mostIds}) AS first) AS ids`;

/** The jobs of an ordered line that go before: the one that runs, those that have begun, and those in line before it. */
const aheadSql = ({ job, idType }: Tables): string => `
WITH ${clockCte("$1")},
own AS MATERIALIZED (SELECT * FROM ${job} WHERE id = $2::${idType})
SELECT j.id, CASE WHEN j.status = 'pending' AND j.due_at > ${nowOf} THEN j.due_at END AS opens_at FROM own CROSS JOIN LATERAL (
  SELECT j.*, 0 AS place FROM ${job} AS j
  WHERE j.status = 'running' AND j.lane = own.lane AND (NOT (${isFree}) OR own.lease_version = 0 OR j.due_at < own.due_at)
  UNION ALL
  SELECT * FROM (
    SELECT j.*, 1 AS place FROM ${job} AS j WHERE j.ready AND j.lane = own.lane AND j.status = 'pending' AND ${isDue}
      AND ${runsBeforeSql("j", "own")} ORDER BY j.priority DESC, j.due_at, j.position LIMIT ${mostIds}
  ) AS in_line
  UNION ALL
  SELECT * FROM (
    SELECT j.*, 1 AS place FROM ${job} AS j WHERE j.status = 'pending' AND NOT j.ready AND j.lane = own.lane
      AND (${isDue} OR (j.ordered IS NOT NULL AND j.lease_version > 0)) AND ${runsBeforeSql("j", "own")}
    ORDER BY j.priority DESC, j.due_at, j.position LIMIT ${mostIds}
  ) AS deferred
) AS j ORDER BY j.place, j.priority DESC, j.due_at, j.position LIMIT ${mostIds}`;

/** By whose failure the group is stopped, with what notes say about that. */
const findStop = async ({ query, tables }: Database, call: Call, row: SqlRow): Promise<string | null> => {
  const notes = await query(call.ctx, {
    sql: `SELECT stopped_by, resumed_by FROM ${tables.lineNote}
      WHERE queue = $1::text AND line = $2::bigint AND (stopped_by IS NOT NULL OR resumed_by IS NOT NULL) ORDER BY number`,
    params: [text(row["queue"]), text(row["lane"])],
  });
  let stoppedBy = textOrNull(row["stopped_by"]);
  for (const note of notes) {
    if (!isNull(note["stopped_by"])) stoppedBy = text(note["stopped_by"]);
    else if (text(note["resumed_by"]) === stoppedBy) stoppedBy = null;
  }
  return stoppedBy;
};

const readTat = async (
  { query, tables }: Database,
  call: Call,
  queue: string,
  home: string,
): Promise<number> => {
  const [row] = await query(call.ctx, {
    sql: `SELECT tat FROM ${tables.flowUse} WHERE queue = $1::text AND home = $2::bigint`,
    params: [queue, home],
  });
  return Number(row?.["tat"] ?? 0);
};

type Scope = Partial<Pick<Throttle, "typeName" | "group">>;

interface Counted {
  /** The bit of `slots`, and which jobs have it for the same limit as this one. */
  readonly slot: number;
  readonly condition: string;
  readonly value: string | null;
}

export const explainThrottle = async (database: Database, call: ExplainCall): Promise<Throttle | null> => {
  const { query, tables } = database;
  if (!database.isId(call.jobId)) return null;
  const [row] = await query(call.ctx, { sql: jobSql(tables), params: [call.now ?? null, call.jobId] });
  if (row === undefined) return null;
  const [queue, typeName, home] = [text(row["queue"]), text(row["type_name"]), text(row["home"])];
  const { over, now } = await readRules(database, call, queue);
  const rules = over(queue, typeName);
  const group = textOrNull(row["group_key"]);
  const isOrdered = !isNull(row["ordered"]) || row["line_ordered"] === true;

  const hold = (by: ThrottleReason, scope: Scope, details: Partial<Throttle> = {}): Throttle => ({
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

  const byLimits = async (
    { concurrency, rate }: LimitValues,
    tat: () => Promise<number>,
    scope: Scope,
    { slot, condition, value }: Counted,
  ): Promise<Throttle | null> => {
    if (concurrency !== null) {
      const params = [call.now ?? null, queue, slot, ...(value === null ? [] : [value])];
      const [holders] = await query(call.ctx, { sql: holdersSql(tables, condition), params });
      const inUse = Number(holders?.["count"]);
      if (inUse >= concurrency)
        return hold("concurrency", scope, { limit: concurrency, inUse, jobIds: textList(holders?.["ids"]) });
    }
    if (rate === null) return null;
    const spent = await tat();
    const isReached = findReachedLimit({ concurrency: null, rate }, { running: 0, bucketFullAt: spent }, now) !== null;
    return isReached
      ? hold("rate", scope, { limit: rate.limit, claimableAt: nextTokenAt(rate, spent, now) })
      : null;
  };

  const byRule = async (
    rule: LimitRule | undefined,
    scope: Scope,
    useHome: string,
    counted: Counted,
  ): Promise<Throttle | null> => {
    if (rule === undefined) return null;
    if (rule.paused) return hold("paused", scope);
    return byLimits(rule, () => readTat(database, call, queue, useHome), scope, counted);
  };

  const byOrder = async (scope: Scope): Promise<Throttle | null> => {
    const ahead = await query(call.ctx, { sql: aheadSql(tables), params: [call.now ?? null, call.jobId] });
    if (ahead.length === 0) return null;
    const jobIds = ahead.map((each) => text(each["id"]));
    return hold("order", scope, { claimableAt: numberOrNull(ahead[0]?.["opens_at"]), jobIds });
  };

  const ofRules =
    (await byRule(rules.queue, {}, "0", { slot: 4, condition: "true", value: null })) ??
    (await byRule(rules.type, { typeName }, home, {
      slot: 2,
      condition: "coalesce(j.home, j.lane) = $4::bigint",
      value: home,
    }));
  if (ofRules !== null || group === null) return ofRules;

  const scope = { typeName, group };
  const stoppedBy = await findStop(database, call, row);
  if (stoppedBy !== null) return hold("stopped", scope, { jobIds: [stoppedBy] });
  const ofOrder = isOrdered ? await byOrder(scope) : null;
  if (ofOrder !== null) return ofOrder;
  const limits = limitsOfGroup(rules, { group, ordered: isOrdered ? "continue" : null });
  return byLimits(limits, async () => Number(row["tat"]), scope, {
    slot: 1,
    condition: "j.lane = $4::bigint",
    value: text(row["lane"]),
  });
};
