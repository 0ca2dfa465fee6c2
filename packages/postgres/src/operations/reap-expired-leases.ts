import type { ReapCall, ReapedJob } from "leasehold/adapter";
import { arrayLiteral } from "../sql/array-literal.ts";
import { numberOrNull, textOrNull } from "../sql/row-values.ts";
import { clockCte, now } from "../sql/clock.ts";
import type { Call, Database } from "../database.ts";
import { attemptsLeftSql, isExpired } from "../runnable.ts";
import type { Tables } from "../tables.ts";
import { newPlaceSql } from "../flow/aged-priority.ts";
import { leaveNotes } from "../flow/notes.ts";
import { mayFind } from "../may-find.ts";
import { rerankWaitingJobs } from "../flow/rerank.ts";
import { expiredAttemptsSql, keepAttemptsSql, leaseColumns } from "../history/keep-attempts.ts";
import { asStateJob, lockedColumns, toLockedJob } from "../lock-jobs.ts";
import { settleDependants } from "../dependants.ts";

// The numbers of attempts that handlers have are two lists, of types and of numbers.
const reapSql = (tables: Tables): string => {
  const { schema, job } = tables;
  return `
WITH ${clockCte("$1")},
expired AS MATERIALIZED (
  SELECT j.id, ${leaseColumns("j")}, j.slots,
    ${attemptsLeftSql("j", "($5::int[])[array_position($4::text[], j.type_name)]")} AS may_retry
  FROM ${job} AS j WHERE ${isExpired}
  ORDER BY j.due_at LIMIT $2::int FOR NO KEY UPDATE SKIP LOCKED
),
${keepAttemptsSql(tables, expiredAttemptsSql("expired", { error: "$3", fingerprint: "$6" }))}
UPDATE ${job} AS j SET
  lease_token = NULL,
  leased_by = NULL,
  slots = NULL,
  expired_leases = j.expired_leases + 1,
  last_failed_at = j.due_at,
  status = (CASE WHEN expired.may_retry THEN 'pending' ELSE 'failed' END)::${schema}.job_status,
  ready = expired.may_retry,
  priority = CASE WHEN expired.may_retry THEN ${newPlaceSql(tables, "j.due_at")} ELSE j.priority END,
  scheduled_at = CASE WHEN expired.may_retry THEN j.due_at ELSE j.scheduled_at END,
  finished_at = CASE WHEN expired.may_retry THEN 0 ELSE ${now} END,
  failure_reason = CASE WHEN expired.may_retry THEN NULL ELSE 'attempts_exhausted' END,
  last_error = CASE WHEN expired.may_retry THEN j.last_error ELSE $3 END,
  fingerprint = CASE WHEN expired.may_retry THEN NULL ELSE $6::text END,
  key_open = CASE WHEN j.key_open AND NOT expired.may_retry THEN false ELSE j.key_open END
FROM expired WHERE j.id = expired.id
RETURNING ${lockedColumns("j")}, expired.leased_by AS previously_leased_by, expired.slots AS previous_slots, ${now} AS now`;
};

// For the first row of the index, as in promotion.ts.
const firstExpiredSql = ({ job }: Tables): string => `
WITH ${clockCte("$1")}
SELECT (SELECT j.due_at FROM ${job} AS j WHERE j.status = 'running' ORDER BY j.due_at LIMIT 1) <= ${now} AS found`;

/** Groups come and go. In a transaction of the caller the lock of the queue would be held until that ends. */
const sweepLines = async ({ query, flow }: Database, call: Call): Promise<void> => {
  if (!flow.hasGroups || call.ctx !== undefined) return;
  await query(undefined, {
    name: "sweep_lines",
    sql: ({ schema }) => `SELECT ${schema}.flow_sweep($1::bigint)`,
    params: [call.now ?? null],
  });
};

export const reapExpiredLeases = async (database: Database, call: Call & ReapCall): Promise<ReapedJob[]> => {
  const reaped = (await mayFind(database, call, "expired", firstExpiredSql))
    ? await reap(database, call)
    : [];
  await rerankWaitingJobs(database, call);
  await sweepLines(database, call);
  return reaped;
};

const reap = (database: Database, call: Call & ReapCall): Promise<ReapedJob[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const rows = await database.query(ctx, {
      name: "reap",
      sql: reapSql,
      params: [
        call.now ?? null,
        call.limit,
        call.error,
        arrayLiteral(Object.keys(call.maxAttempts ?? {})),
        arrayLiteral(Object.values(call.maxAttempts ?? {})),
        call.fingerprint ?? null,
      ],
    });
    const reaped = rows.map((row) => ({
      job: toLockedJob(row),
      previouslyLeasedBy: textOrNull(row["previously_leased_by"]),
      slots: numberOrNull(row["previous_slots"]),
    }));
    const notes = reaped.map(({ job, slots }) => ({
      job: { ...job, flow: { ...job.flow, slots } },
      stops: job.status === "failed" && job.ordered === "stop",
    }));
    await leaveNotes(database, ctx, notes);
    const failed = reaped.map(({ job }) => job).filter(({ status }) => status === "failed");
    const consequences = await settleDependants(
      database,
      { ctx, now: Number(rows[0]?.["now"]) },
      { completed: [], failed },
    );
    return reaped.map(({ job, previouslyLeasedBy }) => ({
      job: asStateJob(job),
      previouslyLeasedBy,
      cascaded: consequences.get(job.sequenceId)?.cascaded ?? [],
    }));
  });
