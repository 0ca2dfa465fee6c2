import type { ForgetReportsCall } from "leasehold/adapter";
import type { Call, Database } from "../../database.ts";
import { rollupKey } from "../../history/rollup-rows.ts";
import { arrayLiteral } from "../../sql/array-literal.ts";
import type { Tables } from "../../tables.ts";

// Rows that somebody else has locked are left for the next time.
const forgetSql = ({ reporter, rollup, cause, job }: Tables): string => `
WITH silent AS MATERIALIZED (
  SELECT ctid FROM ${reporter} WHERE seen_at < $1::bigint ORDER BY seen_at LIMIT $4::int FOR UPDATE SKIP LOCKED
),
old AS MATERIALIZED (
  SELECT found.ctid FROM unnest($2::bigint[], $3::bigint[]) AS f (width, before) CROSS JOIN LATERAL (
    SELECT r.ctid FROM ${rollup} AS r WHERE r.width = f.width AND r.begins_at < f.before
    ORDER BY ${rollupKey("r")} LIMIT $4::int FOR UPDATE SKIP LOCKED
  ) AS found LIMIT $4::int - (SELECT count(*) FROM silent)
),
unseen AS MATERIALIZED (
  SELECT c.ctid FROM ${cause} AS c WHERE coalesce(c.last_seen_at, c.first_seen_at) < $5::bigint
    AND NOT EXISTS (SELECT FROM ${job} AS j WHERE j.status = 'failed' AND j.fingerprint = c.fingerprint)
  LIMIT $4::int - (SELECT count(*) FROM silent) - (SELECT count(*) FROM old) FOR UPDATE SKIP LOCKED
),
left_reporters AS (DELETE FROM ${reporter} WHERE ctid = ANY (ARRAY(SELECT ctid FROM silent)) RETURNING 1),
left_rollups AS (DELETE FROM ${rollup} WHERE ctid = ANY (ARRAY(SELECT ctid FROM old)) RETURNING 1),
left_causes AS (DELETE FROM ${cause} WHERE ctid = ANY (ARRAY(SELECT ctid FROM unseen)) RETURNING 1)
SELECT (SELECT count(*) FROM left_reporters) + (SELECT count(*) FROM left_rollups)
  + (SELECT count(*) FROM left_causes) AS count`;

export const forgetReports = async ({ query }: Database, call: Call & ForgetReportsCall): Promise<number> => {
  const [row] = await query(call.ctx, {
    name: "forget_reports",
    sql: forgetSql,
    params: [
      call.reportersBefore,
      arrayLiteral(call.rollups.map(({ width }) => width)),
      arrayLiteral(call.rollups.map(({ before }) => before)),
      call.limit,
      call.causesBefore,
    ],
  });
  return Number(row?.["count"]);
};
