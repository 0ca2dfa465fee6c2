import type { CountAheadCall } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { attemptsLeftSql, runsBeforeSql, waitsForRetrySql } from "../runnable.ts";
import { clockCte, now } from "../sql/clock.ts";

/** When the job falls due, or now. */
const moment = `greatest(${now}, j.due_at)`;

/**
 * The three places where runnable jobs are, each with an index of its own. The planner reads the whole table for one condition
 * about all of them, finished jobs too, so each is counted for itself.
 */
const places: readonly string[] = [
  `other.ready AND other.status = 'pending' AND other.due_at <= ${moment}`,
  `other.status = 'pending' AND NOT other.ready AND (other.due_at <= ${moment} OR ${waitsForRetrySql("other")})`,
  `other.status = 'running' AND other.due_at <= ${now} AND ${attemptsLeftSql("other")}`,
];

/**
 * Counts the jobs that would go first at the moment this one falls due, as far as that can be foreseen: of its line, if it
 * has a group, and otherwise those of its queue without one.
 */
export const countAhead = async (
  { query, tables, isId }: Database,
  call: Call & CountAheadCall,
): Promise<number | null> => {
  if (!isId(call.jobId)) return null;
  const countIn = (place: string): string => `(
        SELECT count(*) FROM (
          SELECT FROM ${tables.job} AS other
          WHERE ${place} AND other.queue = j.queue
            AND CASE WHEN j.home IS NULL THEN other.home IS NULL ELSE other.lane = j.lane END
            AND ${runsBeforeSql("other", "j")}
          LIMIT $3::int
        ) AS counted
      )`;
  const [row] = await query(call.ctx, {
    sql: `WITH ${clockCte("$1")}
      SELECT least(${places.map(countIn).join(" + ")}, $3::int) AS ahead
      FROM ${tables.job} AS j WHERE j.id = $2::${tables.idType} AND j.status = 'pending'`,
    params: [call.now ?? null, call.jobId, call.cap],
  });
  return row === undefined ? null : Number(row["ahead"]);
};
