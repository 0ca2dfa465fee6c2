import type { CountAheadCall } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { runnableSql, runsBeforeSql, waitsForRetrySql } from "../runnable.ts";
import { clockCte, now } from "../sql/clock.ts";

/**
 * Counts the jobs that would go first at the moment this one falls due, as far as that can be foreseen: of its line, if it
 * has a group, and otherwise those of its queue without one.
 */
export const countAhead = async (
  { query, tables, isId }: Database,
  call: Call & CountAheadCall,
): Promise<number | null> => {
  if (!isId(call.jobId)) return null;
  const [row] = await query(call.ctx, {
    sql: `WITH ${clockCte("$1")}
      SELECT (
        SELECT count(*) FROM ${tables.job} AS other
        WHERE other.queue = j.queue AND CASE WHEN j.home IS NULL THEN other.home IS NULL ELSE other.lane = j.lane END
          AND (${runnableSql("other", `greatest(${now}, j.due_at)`)} OR ${waitsForRetrySql("other")})
          AND ${runsBeforeSql("other", "j")}
      ) AS ahead
      FROM ${tables.job} AS j WHERE j.id = $2::${tables.idType} AND j.status = 'pending'`,
    params: [call.now ?? null, call.jobId],
  });
  return row === undefined ? null : Number(row["ahead"]);
};
