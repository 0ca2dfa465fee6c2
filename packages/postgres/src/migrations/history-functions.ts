import type { Tables } from "../tables.ts";
import { reapSql } from "./flow-functions.ts";

// Part of a migration: the text of a function that was released is not changed here. A later migration replaces the function.

const mostAttempts = 20;

/** A lease that has expired is an attempt, also where a claim under rules is the first to notice. */
export const historyFunctions = (tables: Tables): string[] => [
  reapSql(tables, {
    columns: ", j.lease_version, j.attempt, j.scheduled_at, j.last_attempt_at, j.due_at, j.leased_by",
    queries: `,
    kept AS (
      INSERT INTO ${tables.jobAttempt} (job_id, lease_version, attempt, due_at, started_at, ended_at, outcome, worker_id)
      SELECT id, lease_version, attempt, scheduled_at, coalesce(last_attempt_at, scheduled_at), due_at, 'expired',
        coalesce(leased_by, '')
      FROM expired ON CONFLICT (job_id, lease_version) DO NOTHING
    ),
    trimmed AS (
      DELETE FROM ${tables.jobAttempt} AS a USING expired
      WHERE expired.lease_version > ${mostAttempts} AND a.job_id = expired.id AND a.lease_version <= (
        SELECT b.lease_version FROM ${tables.jobAttempt} AS b
        WHERE b.job_id = expired.id AND b.lease_version <> expired.lease_version
        ORDER BY b.lease_version DESC LIMIT 1 OFFSET ${mostAttempts - 1}
      )
    )`,
  }),
];
