import type { ReapedJob } from "leasehold/adapter";
import { clockCte, now } from "../clock.ts";
import type { Call, Database } from "../database.ts";
import type { Tables } from "../tables.ts";
import { lockedColumns, toLockedJob } from "./lock-jobs.ts";
import { spreadEnds } from "./spread-ends.ts";

const reapSql = ({ schema, job }: Tables): string => `
WITH ${clockCte("$1")},
expired AS MATERIALIZED (
  SELECT id, leased_by FROM ${job} WHERE status = 'running' AND due_at <= ${now}
  ORDER BY due_at LIMIT $2::int FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE ${job} AS j SET
  lease_token = NULL,
  leased_by = NULL,
  expired_leases = j.expired_leases + 1,
  status = (CASE WHEN j.attempt < j.max_attempts THEN 'pending' ELSE 'failed' END)::${schema}.job_status,
  ready = j.attempt < j.max_attempts,
  scheduled_at = CASE WHEN j.attempt < j.max_attempts THEN j.due_at ELSE j.scheduled_at END,
  finished_at = CASE WHEN j.attempt < j.max_attempts THEN 0 ELSE ${now} END,
  failure_reason = CASE WHEN j.attempt < j.max_attempts THEN NULL ELSE 'attempts_exhausted' END,
  last_error = CASE WHEN j.attempt < j.max_attempts THEN j.last_error ELSE $3 END,
  key_open = CASE WHEN j.key_open AND j.attempt >= j.max_attempts THEN false ELSE j.key_open END
FROM expired WHERE j.id = expired.id
RETURNING ${lockedColumns("j")}, expired.leased_by AS previously_leased_by, ${now} AS now`;

export const reapExpiredLeases = (
  database: Database,
  call: Call & { readonly limit: number; readonly error: string },
): Promise<ReapedJob[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const rows = await database.query(ctx, {
      name: "reap",
      sql: reapSql,
      params: [call.now ?? null, call.limit, call.error],
    });
    const reaped = rows.map((row) => ({
      job: toLockedJob(row),
      previouslyLeasedBy: row["previously_leased_by"] as string | null,
    }));
    const failed = reaped.map(({ job }) => job).filter(({ status }) => status === "failed");
    const ends = await spreadEnds(
      database,
      { ctx, now: Number(rows[0]?.["now"]) },
      { completed: [], failed },
    );
    return reaped.map(({ job: { watched: _watched, ...job }, previouslyLeasedBy }) => ({
      job,
      previouslyLeasedBy,
      cascaded: ends.get(job.sequenceId)?.cascaded ?? [],
    }));
  });
