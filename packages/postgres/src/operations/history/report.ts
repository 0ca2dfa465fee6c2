import type { NewCause, ReportCall } from "leasehold/adapter";
import type { Call, Database } from "../../database.ts";
import { rollupColumns, rollupKey, rollupParams, rollupSource } from "../../history/rollup-rows.ts";
import { arrayLiteral, unnestParameters } from "../../sql/array-literal.ts";
import { clockCte, now } from "../../sql/clock.ts";
import type { Tables } from "../../tables.ts";

const causeColumns = ["fingerprint", "name", "message", "frame", "deployment"] as const;
const causes = causeColumns.join(", ");
const firstOfRollups = 7;
const firstOfCauses = 14;

// Two processes that meet a new error at the same time would both insert its cause, and the second would wait until the first
// commits. So only who gets the lock inserts it; for the other it is as if it were known.
const reportSql = ({ schema, reporter, rollup, cause }: Tables): string => `
WITH ${clockCte("$1")},
reported AS (
  INSERT INTO ${reporter} (id, deployment, started_at, about, seen_at)
  VALUES ($2::text, $3::text, $4::bigint, $5::text, ${now})
  ON CONFLICT (id) DO UPDATE SET deployment = excluded.deployment, started_at = excluded.started_at,
    about = excluded.about, seen_at = excluded.seen_at
),
counted AS (
  INSERT INTO ${rollup} (${rollupColumns}) SELECT ${rollupColumns} FROM ${rollupSource("n", firstOfRollups)}
  WHERE begins_at >= ${now} - $6::bigint
  ON CONFLICT (${rollupKey()}) DO UPDATE SET counts = excluded.counts
),
unknown AS MATERIALIZED (
  SELECT * FROM ${unnestParameters(causeColumns.map((_, index) => `$${firstOfCauses + index}::text[]`))} AS n (${causes})
  WHERE NOT EXISTS (SELECT FROM ${cause} AS known WHERE known.fingerprint = n.fingerprint)
),
learned AS (
  INSERT INTO ${cause} (${causes}, first_seen_at, last_seen_at) SELECT ${causes}, ${now}, ${now} FROM unknown
  WHERE pg_try_advisory_xact_lock(hashtextextended('leasehold cause in ${schema}: ' || fingerprint, 0))
  ON CONFLICT (fingerprint) DO NOTHING
),
known AS MATERIALIZED (
  SELECT fingerprint FROM ${cause} WHERE fingerprint = ANY ($${firstOfCauses}::text[]) FOR UPDATE SKIP LOCKED
),
seen_again AS (
  UPDATE ${cause} SET last_seen_at = ${now} WHERE fingerprint = ANY (ARRAY(SELECT fingerprint FROM known))
)
SELECT ${now} AS now`;

const causeParams = (list: readonly NewCause[]): string[] =>
  causeColumns.map((name) => arrayLiteral(list.map((cause) => cause[name])));

export const report = async ({ query }: Database, call: Call & ReportCall): Promise<number> => {
  const { reporter, rollups, maxAgeMs } = call;
  const [row] = await query(call.ctx, {
    name: "report",
    sql: reportSql,
    params: [
      call.now ?? null,
      reporter.id,
      reporter.deployment,
      reporter.startedAt,
      reporter.about,
      maxAgeMs,
      ...rollupParams(rollups),
      ...causeParams(call.causes),
    ],
  });
  return Number(row?.["now"]);
};
