import {
  findReachedLimit,
  type GroupUse,
  type HoldReason,
  limitsOfLine,
  type ListGroupsCall,
  type RulesOver,
} from "leasehold/adapter";
import type { Call, Database } from "../../database.ts";
import { readRules } from "../../flow/read-rules.ts";
import { settleQueue } from "../../flow/settle.ts";
import { findHoldOfType, readUse } from "../../flow/use-of-types.ts";
import type { SqlRow } from "../../provider.ts";
import { findQueueTypes } from "../../queue-types.ts";
import { attemptsLeftSql, isDue, runOrder } from "../../runnable.ts";
import { clockCte } from "../../sql/clock.ts";
import { numberOrNull, text, textOrNull } from "../../sql/row-values.ts";
import type { Tables } from "../../tables.ts";

const mostLines = 1_000;
const mostCounted = 1_000;

/** Lines with something in them. A job whose lease has expired does not count as `busy`: a claim would put it back. */
const linesSql = ({ job, line }: Tables): string => `
WITH ${clockCte("$1")},
busy AS MATERIALIZED (
  SELECT j.lane, count(*) AS running, count(*) FILTER (WHERE NOT (${isDue} AND ${attemptsLeftSql("j")})) AS busy
  FROM ${job} AS j WHERE j.status = 'running' AND j.home = $2::bigint GROUP BY j.lane LIMIT ${mostLines}
),
looked AS MATERIALIZED (
  (SELECT l.number FROM ${line} AS l WHERE l.home = $2::bigint AND l.held LIMIT ${mostLines})
  UNION (SELECT l.number FROM ${line} AS l WHERE l.home = $2::bigint AND l.open AND l.number <> l.home LIMIT ${mostLines})
  UNION SELECT lane FROM busy
)
SELECT coalesce(l.group_key, head.group_key, (
    SELECT j.group_key FROM ${job} AS j WHERE j.status = 'running' AND j.lane = looked.number LIMIT 1
  )) AS group_key, coalesce(l.ordered, false) OR head.ordered IS NOT NULL AS ordered,
  l.stopped_by, coalesce(l.tat, 0) AS tat, coalesce(busy.running, 0) AS running, coalesce(busy.busy, 0) AS busy,
  waiting.count AS waiting, waiting.since, head.lease_version, (
    SELECT j.due_at FROM ${job} AS j WHERE j.lane = looked.number AND j.ordered IS NOT NULL AND j.status = 'pending'
      AND NOT j.ready AND j.lease_version > 0 ORDER BY j.due_at LIMIT 1
  ) AS retry_at
FROM looked LEFT JOIN ${line} AS l ON l.number = looked.number LEFT JOIN busy ON busy.lane = looked.number
LEFT JOIN LATERAL (
  SELECT j.group_key, j.ordered, j.lease_version FROM ${job} AS j WHERE j.ready AND j.lane = looked.number
  ORDER BY ${runOrder} LIMIT 1
) AS head ON true
CROSS JOIN LATERAL (
  SELECT count(*), min(first.due_at) AS since FROM (
    SELECT j.due_at FROM ${job} AS j WHERE j.ready AND j.lane = looked.number LIMIT ${mostCounted}
  ) AS first
) AS waiting`;

const toGroupUse = (
  row: SqlRow,
  { over, heldByType, now }: { over: RulesOver; heldByType: HoldReason | null; now: number },
): GroupUse => {
  const group = text(row["group_key"]);
  const isOrdered = row["ordered"] === true;
  const busy = Number(row["busy"]);
  const stoppedBy = textOrNull(row["stopped_by"]);
  const waiting = Number(row["waiting"]);
  const findHold = (): HoldReason | null => {
    if (waiting === 0) return null;
    if (heldByType !== null) return heldByType;
    if (stoppedBy !== null) return "stopped";
    const waitsForRetry = row["retry_at"] !== null && Number(row["lease_version"]) === 0;
    if (isOrdered && (busy > 0 || waitsForRetry)) return "order";
    const limits = limitsOfLine(over, { group, ordered: isOrdered ? "continue" : null });
    return findReachedLimit(limits, { running: busy, tat: Number(row["tat"]) }, now);
  };
  return {
    group,
    running: Number(row["running"]),
    waiting,
    waitingSince: numberOrNull(row["since"]),
    heldBy: findHold(),
    stoppedBy,
  };
};

const since = ({ waitingSince }: GroupUse): number => waitingSince ?? Number.MAX_SAFE_INTEGER;

export const listGroups = async (database: Database, call: Call & ListGroupsCall): Promise<GroupUse[]> => {
  const { queue, typeName, held, order, limit } = call;
  const [type] = await findQueueTypes(database, call, [{ queue, typeNames: [typeName] }]);
  const home = type!.number;
  await settleQueue(database, call, [type!]);
  const { over, now } = await readRules(database, call, queue);
  const use = await readUse(database, call, queue, [home]);
  const rules = over(queue, typeName);
  const heldByType = findHoldOfType(rules, use, home, now);
  const rows = await database.query(call.ctx, {
    sql: linesSql(database.tables),
    params: [call.now ?? null, home],
  });
  return rows
    .map((row) => toGroupUse(row, { over: rules, heldByType, now }))
    .filter(({ heldBy }) => held === undefined || held === (heldBy !== null))
    .filter(({ waiting, running }) => waiting + running > 0)
    .sort(
      (a, b) =>
        (order === "waiting" ? since(a) - since(b) : b.running - a.running) || (a.group < b.group ? -1 : 1),
    )
    .slice(0, limit);
};
