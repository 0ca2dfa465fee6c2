import { clockCte, now } from "../sql/clock.ts";
import type { Call, Database } from "../database.ts";

/** Counts the jobs that would go first at the moment this one falls due, as far as that can be foreseen. */
export const countAhead = async (
  { query, tables, isId }: Database,
  call: Call & { readonly jobId: string },
): Promise<number | null> => {
  if (!isId(call.jobId)) return null;
  const [row] = await query(call.ctx, {
    sql: `WITH ${clockCte("$1")}
      SELECT (
        SELECT count(*) FROM ${tables.job} AS other
        WHERE other.queue = j.queue AND other.due_at <= greatest(${now}, j.due_at)
          AND (other.status = 'pending'
            OR (other.status = 'running' AND other.due_at <= ${now} AND other.attempt < other.max_attempts))
          AND (other.priority > j.priority
            OR (other.priority = j.priority AND (other.due_at, other.position) < (j.due_at, j.position)))
      ) AS ahead
      FROM ${tables.job} AS j WHERE j.id = $2::${tables.idType} AND j.status = 'pending'`,
    params: [call.now ?? null, call.jobId],
  });
  return row === undefined ? null : Number(row["ahead"]);
};
