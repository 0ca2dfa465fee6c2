import type { CauseList, FailedJobs, FailureReason, ListCausesCall, StateCause } from "leasehold/adapter";
import { byIndexOnly, type Call, type Context, type Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { arrayLiteral, text, textOrNull } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

// No index has failed jobs by queue, type, group and recurring job. A filter reads this many times the cap, and at least this many jobs.
const mostCaps = 10;

const leastRead = 10_000;

/** The index of failed jobs is in the order of creation. */
const failedSql = ({ job }: Tables): string => `
WITH newest AS MATERIALIZED (
  SELECT id, fingerprint, queue, type_name, failure_reason, finished_at, group_key, recurrence FROM ${job}
  WHERE status = 'failed' ORDER BY created_at DESC, id DESC LIMIT $2::int + 1
),
wanted AS MATERIALIZED (
  SELECT * FROM newest
  WHERE ($3::text[] IS NULL OR queue = ANY ($3::text[])) AND ($4::text[] IS NULL OR type_name = ANY ($4::text[]))
    AND ($6::text[] IS NULL OR group_key = ANY ($6::text[]))
    AND ($7::text[] IS NULL OR recurrence::jsonb ->> 'id' = ANY ($7::text[]))
  LIMIT $1::int + 1
),
counted AS (
  SELECT fingerprint, queue, type_name, failure_reason, count(*) AS count, min(finished_at) AS first_failed_at,
    max(finished_at) AS last_failed_at, (array_agg(id ORDER BY finished_at DESC))[1] AS example_id
  FROM (SELECT * FROM wanted LIMIT $1::int) AS newest_wanted
  GROUP BY fingerprint, queue, type_name, failure_reason, finished_at / $5::bigint
)
SELECT (SELECT count(*) FROM newest) > $2::int OR (SELECT count(*) FROM wanted) > $1::int AS capped, counted.*
FROM (SELECT) AS always LEFT JOIN counted ON true`;

const toFailedJobs = (row: SqlRow): FailedJobs => ({
  fingerprint: textOrNull(row["fingerprint"]),
  queue: text(row["queue"]),
  typeName: text(row["type_name"]),
  reason: row["failure_reason"] as FailureReason,
  count: Number(row["count"]),
  firstFailedAt: Number(row["first_failed_at"]),
  lastFailedAt: Number(row["last_failed_at"]),
  exampleId: text(row["example_id"]),
});

const readCauses = async (
  { query, tables }: Database,
  ctx: Context,
  failed: readonly FailedJobs[],
): Promise<StateCause[]> => {
  const fingerprints = new Set(failed.flatMap(({ fingerprint }) => fingerprint ?? []));
  if (fingerprints.size === 0) return [];
  const rows = await query(ctx, {
    sql: `SELECT * FROM ${tables.failureCause} WHERE fingerprint = ANY ($1::text[])`,
    params: [arrayLiteral([...fingerprints])],
  });
  return rows.map((row) => ({
    fingerprint: text(row["fingerprint"]),
    name: text(row["name"]),
    message: text(row["message"]),
    frame: textOrNull(row["frame"]),
    deployment: textOrNull(row["deployment"]),
    firstSeenAt: Number(row["first_seen_at"]),
    lastSeenAt: Number(row["last_seen_at"]),
  }));
};

export const listCauses = (database: Database, call: Call & ListCausesCall): Promise<CauseList> =>
  byIndexOnly(database, call.ctx, async (ctx) => {
    const { cap, queues, typeNames, groups, recurringJobIds, everyMs } = call;
    const lists = [queues, typeNames, groups, recurringJobIds];
    const isFiltered = lists.some((list) => list !== undefined);
    const rows = await database.query(ctx, {
      sql: failedSql(database.tables),
      params: [
        cap,
        isFiltered ? Math.max(cap * mostCaps, leastRead) : cap,
        queues ? arrayLiteral(queues) : null,
        typeNames ? arrayLiteral(typeNames) : null,
        // A division by null puts all in one bucket.
        everyMs ?? null,
        groups ? arrayLiteral(groups) : null,
        recurringJobIds ? arrayLiteral(recurringJobIds) : null,
      ],
    });
    const failed = rows.filter((row) => row["example_id"] !== null).map(toFailedJobs);
    return {
      failed,
      causes: await readCauses(database, ctx, failed),
      capped: rows[0]?.["capped"] === true,
    };
  });
