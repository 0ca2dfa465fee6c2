import {
  type ExpireCall,
  type ExpiredJob,
  checkUpdate,
  type StateJob,
  updated,
  type UpdateWaitingJobsCall,
  type WaitingJobResult,
} from "leasehold/adapter";
import type { Call, Database } from "../database/database.ts";
import { clockCte, defineRows, now, type RowsColumn } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { insertDeltas, deltaColumns, deltasOfSql } from "../limits/deltas.ts";
import { asStateJob, lockedColumns, type LockedJob, lockJobs, toLockedJob } from "../rows/locks.ts";
import { settleDependants, type TimedTransaction } from "./dependants.ts";
import { hasCandidates } from "./promote.ts";

// The conditions of the index job_expiring.
const canExpire = "j.expire_after_ms IS NOT NULL AND j.status = 'pending' AND j.attempt = 0";

const expiresAt = "j.scheduled_at + j.expire_after_ms";

const firstLateSql = ({ job }: Tables): string => `
WITH ${clockCte("$1")}
SELECT (SELECT ${expiresAt} FROM ${job} AS j WHERE ${canExpire} ORDER BY ${expiresAt} LIMIT 1) <= ${now} AS found`;

const expireSql = ({ job }: Tables): string => `
WITH ${clockCte("$1")},
late AS MATERIALIZED (
  SELECT j.id FROM ${job} AS j WHERE ${canExpire} AND ${expiresAt} <= ${now}
  ORDER BY ${expiresAt} LIMIT $2::int FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE ${job} AS j SET
  status = 'failed',
  ready = false,
  finished_at = ${now},
  failure_reason = 'expired',
  last_error = $3,
  fingerprint = NULL,
  deduplication_open = CASE WHEN j.deduplication_open THEN false ELSE j.deduplication_open END
FROM late WHERE j.id = late.id
RETURNING ${lockedColumns("j")}, ${now} AS now`;

const expiryOf = ({ scheduledAt, expireAfterMs }: LockedJob): number => scheduledAt + expireAfterMs!;

export const expireWaitingJobs = async (database: Database, call: Call & ExpireCall): Promise<ExpiredJob[]> =>
  (await hasCandidates(database, call, "late", firstLateSql)) ? expire(database, call) : [];

const expire = (database: Database, call: Call & ExpireCall): Promise<ExpiredJob[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const rows = await database.query(ctx, {
      name: "expire_waiting",
      sql: expireSql,
      params: [call.now ?? null, call.limit, call.error],
    });
    // Another process may have expired or claimed them.
    if (rows.length === 0) return [];
    const failed = rows.map(toLockedJob).sort((a, b) => expiryOf(a) - expiryOf(b));
    await insertDeltas(
      database,
      ctx,
      failed.map((job) => ({ job })),
    );
    const transaction = { ctx, now: Number(rows[0]?.["now"]) };
    const consequences = await settleDependants(database, transaction, { completed: [], failed });
    return failed.map((job) => ({
      job: asStateJob(job),
      cascaded: consequences.get(job.sequenceId)?.cascaded ?? [],
    }));
  });

const changedColumns = (idType: string): RowsColumn<StateJob>[] => [
  { name: "id", type: idType, read: "id" },
  { name: "input", type: "text", read: "input" },
  { name: "replaced_by", type: idType, read: "replacedBy" },
  { name: "trace_context", type: "text", read: "traceContext" },
  { name: "priority", type: "int", read: "priority" },
  { name: "max_attempts", type: "int", read: "maxAttempts" },
  // Null where the start gave a number.
  {
    name: "max_attempts_explicit",
    type: "boolean",
    read: ({ maxAttemptsGiven }) => (maxAttemptsGiven ? null : false),
  },
  { name: "timeout_ms", type: "bigint", read: "timeoutMs" },
  { name: "lease_ms", type: "bigint", read: "leaseMs" },
  { name: "expire_after_ms", type: "bigint", read: "expireAfterMs" },
  { name: "scheduled_at", type: "bigint", read: "scheduledAt" },
  { name: "attempt", type: "int", read: "attempt" },
  { name: "expired_leases", type: "int", read: "expiredLeases" },
  { name: "progress", type: "text", read: "progress" },
];

const changedRows = defineRows<StateJob>(changedColumns);

const columns = changedRows("uuid").columns.filter((name) => name !== "id" && name !== "priority");

const updateSql = (
  { job }: Tables,
  source: string,
  priority: { readonly stored: string; readonly given: string },
): string => `
UPDATE ${job} AS j SET ${columns.map((name) => `${name} = n.${name}`).join(", ")},
  priority = ${priority.stored},
  given_priority = ${priority.given},
  due_at = n.scheduled_at,
  ready = j.status = 'pending' AND n.scheduled_at <= $1::bigint
FROM ${source} WHERE j.id = n.id`;

const saveSql = (tables: Tables, single: boolean): string =>
  updateSql(tables, changedRows(tables.idType).source("n", 2, single), {
    stored: "n.priority",
    given: "NULL",
  });

// In an ordered group such a job stays first, regardless of its priority.
const hasBegun = "j.ordered IS NOT NULL AND j.lease_version > 0";

/** The change may affect whether the group is claimable, so a delta makes the next claim check the group. */
const saveInGroupsSql = (tables: Tables, single: boolean): string => `
WITH saved AS (
  ${updateSql(tables, changedRows(tables.idType).source("n", 2, single), {
    stored: `CASE WHEN ${hasBegun} THEN j.priority ELSE n.priority END`,
    given: `CASE WHEN ${hasBegun} THEN n.priority END`,
  })}
  RETURNING j.queue, j.queue_type, j.claim_key, j.group_key, j.ordered, j.counted_in
)
INSERT INTO ${tables.limitDelta} (${deltaColumns}) ${deltasOfSql("saved")}`;

/** Writes waiting jobs that `replaced` or `updated` has made. The transaction has locked them. */
export const saveWaitingJobs = async (
  { query, tables: { idType } }: Database,
  { ctx, now }: TimedTransaction,
  jobs: readonly StateJob[],
): Promise<void> => {
  if (jobs.length === 0) return;
  const single = jobs.length === 1;
  const name = `save_waiting_${single ? "one" : "many"}`;
  const hasGroups = jobs.some((job) => job.group !== null);
  await query(
    ctx,
    hasGroups
      ? {
          name: `${name}_in_groups`,
          sql: (tables) => saveInGroupsSql(tables, single),
          params: [now, ...changedRows(idType).params(jobs)],
        }
      : {
          name,
          sql: (tables) => saveSql(tables, single),
          params: [now, ...changedRows(idType).params(jobs)],
        },
  );
};

export const updateWaitingJobs = (
  database: Database,
  call: Call & UpdateWaitingJobsCall,
): Promise<WaitingJobResult[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const { jobIds, change } = call;
    // A job that was claimed in the meantime is running here.
    const { jobs, at: now } = await lockJobs(database, { ctx, now: call.now }, jobIds);
    const changed = new Map<string, StateJob>();
    const results = jobIds.map((jobId): WaitingJobResult => {
      const locked = jobs.get(jobId);
      const before = locked && asStateJob(locked);
      const refusal = checkUpdate(before, change);
      if (before === undefined || refusal !== undefined)
        return { jobId, kind: refusal!, job: before ?? null };
      const job = changed.get(jobId) ?? updated(before, change, now);
      changed.set(jobId, job);
      return { jobId, kind: "changed", job };
    });
    await saveWaitingJobs(database, { ctx, now }, [...changed.values()]);
    return results;
  });
