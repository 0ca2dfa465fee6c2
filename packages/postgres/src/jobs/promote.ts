import type { Call, Database } from "../database/database.ts";
import { clockCte, now } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { newPlaceSql } from "../flow/aged-priority.ts";
import { expiredAttemptsSql, keepAttemptsSql, leaseColumns } from "../history/attempts.ts";
import { type AttemptOverrides, deferredSql, isDue, leasedSql } from "../rows/runnable.ts";

/**
 * Whether it is worth while to begin a transaction. What every worker does every few seconds finds nothing most of the time:
 * one statement is enough to see that, instead of three. In a transaction of the caller's there is nothing to save.
 */
export const hasCandidates = async (
  { query }: Database,
  { ctx, now }: Call,
  name: string,
  sql: (tables: Tables) => string,
): Promise<boolean> => {
  if (ctx !== undefined) return true;
  const [row] = await query(undefined, { name: `may_find_${name}`, sql, params: [now ?? null] });
  return row?.["found"] === true;
};

// Jobs whose time has come are put in line: pending ones that were for later, and running ones whose lease has expired.
// A claim looks first whether there are any, so that nothing that is in line overtakes them.
//
// A lease that has expired is an attempt. It is written here, where the end of a lease is noticed: the statement that claims
// the job would have to look for such jobs at every claim.

/**
 * Whether jobs of the queues and types in `$2` are due and not yet in line.
 *
 * An index still has entries of jobs that finished long ago. A scan in the order of the index marks those as dead when it
 * meets them, and the next scan skips them. The planner, if it expects more than one row, may fetch all entries and sort
 * them: such a scan marks nothing, and would meet the dead entries again at every claim. So each question is for the first
 * row of an index. Of the running jobs only the very first is looked at, whatever its queue and type, before the question
 * proper is asked.
 */
export const someAreDueSql = ({ job }: Tables, attemptsLeft: string): string => `EXISTS (
  SELECT FROM unnest($2::bigint[]) AS number
  WHERE (SELECT j.due_at FROM ${job} AS j WHERE ${deferredSql("number")} ORDER BY j.due_at LIMIT 1) <= ${now}
) OR CASE WHEN (SELECT j.due_at FROM ${job} AS j WHERE j.status = 'running' ORDER BY j.due_at LIMIT 1) <= ${now}
  THEN EXISTS (SELECT FROM ${job} AS j WHERE ${leasedSql(attemptsLeft)} AND ${isDue} AND NOT j.ready)
END`;

// How many jobs of a queue and type are put in line at once, so that a flood of due jobs does not hold up the claim.
const promotionLimit = 1_000;

// Nothing is moved if the rules have changed since this process read them: the jobs may be in lines by now. A job that was
// for later when waiting ceased to count gets its place now.
const promoteSql = (tables: Tables, attemptsLeft: string): string => {
  const { job, flow } = tables;
  const areRulesKnown = `(SELECT epoch FROM ${flow}) = $3::bigint`;
  return `
WITH ${clockCte("$1")},
expired AS MATERIALIZED (
  SELECT j.id, ${leaseColumns("j")} FROM ${job} AS j
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
  UPDATE ${job} AS j SET ready = true, priority = ${newPlaceSql(tables, "j.due_at")}
  WHERE j.id = ANY (ARRAY(SELECT id FROM due WHERE ${areRulesKnown})) RETURNING 1
),
${keepAttemptsSql(tables, `${expiredAttemptsSql("expired", { error: "NULL", fingerprint: "NULL" })} WHERE ${areRulesKnown}`)}
SELECT count(*) AS promoted, (SELECT epoch FROM ${flow}) AS epoch FROM promoted`;
};

export interface Promotion {
  readonly promoted: number;
  /** Of the rules, as the statement saw them. */
  readonly epoch: number;
}

/** Puts jobs in line that are due. */
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
