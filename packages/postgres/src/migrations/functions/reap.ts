import type { Tables } from "../../database/tables.ts";
import {
  attemptsLeft,
  define,
  newPlaceSql,
  deltaColumns,
  notesOfSql,
  promotionLimit,
  type ReapAddition,
} from "./shared.ts";

export const reapSql = (
  tables: Tables,
  { columns, queries }: ReapAddition = { columns: "", queries: "" },
): string => {
  const { schema, job, lineNote } = tables;
  return define(
    `${schema}.flow_reap`,
    "p_at bigint, p_homes bigint[], p_attempts int[]",
    "void",
    `
BEGIN
    WITH expired AS MATERIALIZED (
      SELECT j.id, j.slots, j.queue, j.home, j.lane, j.group_key, j.ordered${columns} FROM ${job} AS j
      WHERE j.status = 'running' AND j.due_at <= p_at AND coalesce(j.home, j.lane) = ANY (p_homes) AND ${attemptsLeft}
      ORDER BY j.due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
    ),
    moved AS (
      UPDATE ${job} AS j SET
        status = 'pending',
        ready = true,
        slots = NULL,
        lease_token = NULL,
        leased_by = NULL,
        expired_leases = j.expired_leases + 1,
        last_failed_at = j.due_at,
        scheduled_at = j.due_at,
        priority = ${newPlaceSql(tables, "j.due_at")}
      WHERE j.id = ANY (ARRAY(SELECT id FROM expired))
    )${queries}
    INSERT INTO ${lineNote} (${deltaColumns}) ${notesOfSql("expired")};
END`,
  );
};

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
