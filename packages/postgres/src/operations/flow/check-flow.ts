import type { FlowRepair } from "leasehold/adapter";
import type { Call, Database } from "../../database.ts";
import { text, textOrNull } from "../../sql/row-values.ts";
import type { Tables } from "../../tables.ts";

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

export const checkFlow = async (
  { query, tables }: Database,
  call: Call & { readonly repair: boolean },
): Promise<FlowRepair> => {
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
