import type { Tables } from "../../database/tables.ts";
import { attemptsLeft, define, deltaColumns, deltasOfSql, promotionLimit } from "./shared.ts";

// A copy of `mostAttempts` of core, because the text of a released function never changes.
const mostAttempts = 20;

/** Only jobs with attempts left: `reapExpiredLeases` fails the others. An expired lease is recorded as an attempt. */
export const reapSql = ({ schema, job, jobAttempt, limitDelta }: Tables): string =>
  define(
    `${schema}.limit_reap`,
    "p_at bigint, p_queue_types bigint[], p_attempts int[]",
    "void",
    `
BEGIN
    WITH expired AS MATERIALIZED (
      SELECT j.id, j.counted_in, j.queue, j.queue_type, j.claim_key, j.group_key, j.ordered, j.lease_version, j.attempt,
        j.scheduled_at, j.last_attempt_at, j.due_at, j.leased_by, j.deployment
      FROM ${job} AS j
      WHERE j.status = 'running' AND j.due_at <= p_at AND coalesce(j.queue_type, j.claim_key) = ANY (p_queue_types)
        AND ${attemptsLeft}
      ORDER BY j.due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
    ),
    moved AS (
      UPDATE ${job} AS j SET
        status = 'pending',
        ready = true,
        counted_in = NULL,
        lease_token = NULL,
        leased_by = NULL,
        expired_leases = j.expired_leases + 1,
        last_failed_at = j.due_at,
        scheduled_at = j.due_at
      WHERE j.id = ANY (ARRAY(SELECT id FROM expired))
    ),
    kept AS (
      INSERT INTO ${jobAttempt} (job_id, lease_version, attempt, due_at, started_at, ended_at, outcome, worker_id,
        deployment)
      SELECT id, lease_version, attempt, scheduled_at, coalesce(last_attempt_at, scheduled_at), due_at, 'expired',
        coalesce(leased_by, ''), deployment
      FROM expired ON CONFLICT (job_id, lease_version) DO NOTHING
    ),
    trimmed AS (
      DELETE FROM ${jobAttempt} AS a USING expired
      WHERE expired.lease_version > ${mostAttempts} AND a.job_id = expired.id AND a.lease_version <= (
        SELECT b.lease_version FROM ${jobAttempt} AS b
        WHERE b.job_id = expired.id AND b.lease_version <> expired.lease_version
        ORDER BY b.lease_version DESC LIMIT 1 OFFSET ${mostAttempts - 1}
      )
    )
    INSERT INTO ${limitDelta} (${deltaColumns}) ${deltasOfSql("expired")};
END`,
  );
