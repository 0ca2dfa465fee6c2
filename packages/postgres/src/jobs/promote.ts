import type { Call, Database } from "../database/database.ts";
import { clockCte, now } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { expiredAttemptsSql, keepAttemptsSql, expiredLeaseColumns } from "../history/attempts.ts";
import { type AttemptOverrides, deferredSql, isDue, leasedSql } from "../rows/runnable.ts";

/**
 * Whether maintenance may find a job. Every worker runs it every few seconds, mostly without a result: one statement shows
 * that, where a transaction takes three. In a transaction of the caller this saves nothing.
 */
export const hasCandidates = async (
  { query }: Database,
  { ctx, now }: Call,
  name: string,
  sql: (tables: Tables) => string,
): Promise<boolean> => {
  if (ctx !== undefined) return true;
  const [row] = await query(undefined, { name: `has_candidates_${name}`, sql, params: [now ?? null] });
  return row?.["found"] === true;
};

// Promotion marks jobs as ready: deferred jobs that are due, and running jobs whose lease has expired. A claim first checks for
// such jobs, so that ready jobs do not overtake them.
//
// An expired lease is recorded as an attempt here. The statement that claims would have to check every job for it.

/**
 * Whether jobs of the queues and types in `$2` are due and not ready.
 *
 * An index keeps entries of finished jobs. A scan in index order marks them as dead, and the next scan skips them. If the
 * planner expects more than one row, it may fetch all entries and sort them: such a bitmap scan marks nothing, and every claim
 * would read the dead entries again. So each subquery reads the first row of an index. Of the running jobs, the very first of
 * all queues is checked before those of these queues and types.
 */
export const someAreDueSql = ({ job }: Tables, attemptsLeft: string): string => `EXISTS (
  SELECT FROM unnest($2::bigint[]) AS number
  WHERE (SELECT j.due_at FROM ${job} AS j WHERE ${deferredSql("number")} ORDER BY j.due_at LIMIT 1) <= ${now}
) OR CASE WHEN (SELECT j.due_at FROM ${job} AS j WHERE j.status = 'running' ORDER BY j.due_at LIMIT 1) <= ${now}
  THEN EXISTS (SELECT FROM ${job} AS j WHERE ${leasedSql(attemptsLeft)} AND ${isDue} AND NOT j.ready)
END`;

// The most jobs of a queue and type that one claim promotes, so that many due jobs do not delay it.
const promotionLimit = 1_000;

// Promotes nothing if the rules have changed since this process loaded them: the queue may have limits now.
const promoteSql = (tables: Tables, attemptsLeft: string): string => {
  const { job, limitEpoch } = tables;
  const areRulesKnown = `(SELECT epoch FROM ${limitEpoch}) = $3::bigint`;
  return `
WITH ${clockCte("$1")},
expired AS MATERIALIZED (
  SELECT j.id, ${expiredLeaseColumns("j")} FROM ${job} AS j
  WHERE ${leasedSql(attemptsLeft)} AND ${isDue} AND NOT j.ready
  ORDER BY j.due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
),
due AS MATERIALIZED (
  SELECT pending.id FROM unnest($2::bigint[]) AS number CROSS JOIN LATERAL (
    SELECT j.id FROM ${job} AS j WHERE ${deferredSql("number")} AND ${isDue}
    ORDER BY j.due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
  ) AS pending
  UNION ALL
  SELECT expired.id FROM expired
),
promoted AS (
  UPDATE ${job} AS j SET ready = true
  WHERE j.id = ANY (ARRAY(SELECT id FROM due WHERE ${areRulesKnown})) RETURNING 1
),
${keepAttemptsSql(tables, `${expiredAttemptsSql("expired")} WHERE ${areRulesKnown}`)}
SELECT count(*) AS promoted, (SELECT epoch FROM ${limitEpoch}) AS epoch FROM promoted`;
};

export interface Promotion {
  readonly promoted: number;
  /** The epoch of the rules in the snapshot of the statement. */
  readonly epoch: number;
}

/** Marks due jobs as ready. */
export const promoteDueJobs = async (
  database: Database,
  call: Call,
  numbers: string,
  { params, suffix, attemptsLeft }: AttemptOverrides,
  epoch: number,
): Promise<Promotion> => {
  const [row] = await database.query(call.ctx, {
    name: `promote${suffix}`,
    sql: (tables) => promoteSql(tables, attemptsLeft("$4")),
    params: [call.now ?? null, numbers, epoch, ...params],
  });
  return { promoted: Number(row?.["promoted"]), epoch: Number(row?.["epoch"]) };
};
