import type { Context, Database } from "../database.ts";
import type { Tables } from "../tables.ts";
import { noteColumns } from "./notes.ts";

// Which counters a running job has to be in by the rules, and is not.
const missing = `(
  CASE WHEN j.home IS NOT NULL AND (j.ordered IS NOT NULL OR CASE WHEN t.group_limits THEN t.group_concurrency
    WHEN q.group_limits THEN q.group_concurrency END IS NOT NULL) THEN 1 ELSE 0 END
  | CASE WHEN t.concurrency IS NULL THEN 0 ELSE 2 END
  | CASE WHEN q.concurrency IS NULL THEN 0 ELSE 4 END
) & ~coalesce(j.slots, 0)`;

/** A note that says that less than nothing has come free counts a job in. */
const countSql = ({ job, flowRule, lineNote }: Tables, wait: boolean): string => `
WITH uncounted AS MATERIALIZED (
  SELECT j.id, j.queue, j.home, j.lane, j.group_key, j.ordered, ${missing} AS slots FROM ${job} AS j
  LEFT JOIN ${flowRule} AS t ON t.queue = j.queue AND t.home = coalesce(j.home, j.lane)
  LEFT JOIN ${flowRule} AS q ON q.queue = j.queue AND q.home = 0
  WHERE j.status = 'running' AND j.queue = $1::text AND ${missing} <> 0
  ORDER BY j.id FOR NO KEY UPDATE OF j ${wait ? "" : "SKIP LOCKED"}
),
counted AS (
  UPDATE ${job} AS j SET slots = coalesce(j.slots, 0) | u.slots FROM uncounted AS u WHERE j.id = u.id AND j.status = 'running'
  RETURNING u.*
)
INSERT INTO ${lineNote} (${noteColumns})
SELECT queue, coalesce(home, lane), lane, group_key, bool_or(ordered IS NOT NULL), 0,
  ${[1, 2, 4].map((slot) => `-count(*) FILTER (WHERE slots & ${slot} <> 0)`).join(", ")}
FROM counted GROUP BY queue, home, lane, group_key`;

/** Counts running jobs against limits that were not there when they were claimed. Without waiting, locked jobs are skipped. */
export const countRunningJobs = async (
  { query, tables }: Database,
  ctx: Context | undefined,
  queue: string,
  wait = true,
): Promise<void> => {
  await query(ctx, { sql: countSql(tables, wait), params: [queue] });
};
