import {
  assertLeaseDuration,
  findRefusal,
  type HeldLease,
  type LeaseState,
  type LockHeldJobsCall,
  type LockResult,
  type ReapCall,
  type ReapedJob,
  refuse,
  type RenewalResult,
  type RenewLeasesCall,
} from "leasehold/adapter";
import type { Call, Context, Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import {
  arrayLiteral,
  clockCte,
  defineRows,
  isNull,
  now,
  nowSql,
  numberOrNull,
  text,
  textOrNull,
  unnestParameters,
} from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { expiredAttemptsSql, expiredLeaseColumns, keepAttemptsSql } from "../history/attempts.ts";
import { insertDeltas } from "../limits/deltas.ts";
import { pickColumns } from "../rows/job-table.ts";
import { asStateJob, lockedColumns, toLockedJob } from "../rows/locks.ts";
import { isExpired, mayRunAgainSql } from "../rows/runnable.ts";
import { settleDependants } from "./dependants.ts";
import { hasCandidates } from "./promote.ts";

const columns = pickColumns("status", "leaseToken", "leasedUntil", "failureReason");

/** The columns that decide whether a lease is valid, as `toLeaseState` reads them. */
const leaseStateColumns = (table: string): string => columns.select(table);

/** Undefined if the outer join found no job. */
const toLeaseState = (row: SqlRow): LeaseState | undefined =>
  isNull(row["status"]) ? undefined : columns.read(row);

/** The completion changes no other row: neither those of dependants nor the counters of limits. */
const isPlainSql = "NOT j.has_dependants AND j.counted_in IS NULL AS is_plain";

type LockCall = Call & { readonly ctx: Context } & LockHeldJobsCall;

/** Nearly every transaction of a handler begins with the lock of one job, so that has a statement of its own. */
const lockOne = ({ query, tables }: Database, call: LockCall, jobId: string): Promise<readonly SqlRow[]> =>
  query(call.ctx, {
    name: "lock_held_job",
    sql: () => `SELECT ${nowSql("$1")} AS now, j.id, ${isPlainSql}, ${leaseStateColumns("j")} FROM ${tables.job} AS j
      WHERE j.id = $2 FOR NO KEY UPDATE`,
    params: [call.now ?? null, jobId],
  });

const leaseRows = defineRows<HeldLease>((idType) => [
  { name: "id", type: idType, read: "jobId" },
  { name: "token", type: "text", required: true, read: "leaseToken" },
]);

// Returns one row if all leases are valid and all jobs are plain, otherwise a row for each job. The time is read after all rows
// are locked.
const lockManySql = ({ job, idType }: Tables): string => `
WITH locked AS MATERIALIZED (
  SELECT j.id, ${isPlainSql}, ${leaseStateColumns("j")} FROM ${job} AS j
  WHERE j.id = ANY ($2::${idType}[]) ORDER BY j.id FOR NO KEY UPDATE
),
valid AS MATERIALIZED (
  SELECT ${nowSql("$1")} AS now, count(*) AS jobs, min(locked.leased_until) AS leased_until
  FROM ${leaseRows(idType).source("lease", 2, false)} JOIN locked ON locked.id = lease.id
  WHERE locked.is_plain AND locked.leased_until IS NOT NULL AND locked.lease_token = lease.token
),
verdict AS MATERIALIZED (
  SELECT now, (jobs = $4::int AND leased_until > now) IS TRUE AS all_plain FROM valid
)
SELECT verdict.now, verdict.all_plain, locked.* FROM verdict LEFT JOIN locked ON NOT verdict.all_plain`;

const lockMany = (
  { query, tables }: Database,
  call: LockCall,
  leases: readonly HeldLease[],
): Promise<readonly SqlRow[]> =>
  query(call.ctx, {
    name: "lock_held_jobs",
    sql: lockManySql,
    params: [call.now ?? null, ...leaseRows(tables.idType).params(leases), call.leases.length],
  });

const judge = ({ leaseToken }: HeldLease, row: SqlRow | undefined): LockResult => {
  const state = row && toLeaseState(row);
  if (row === undefined || state === undefined) return refuse("not_found", undefined);
  return findRefusal(state, leaseToken, Number(row["now"])) ?? locked;
};

const locked: LockResult = { kind: "locked" };

export const lockHeldJobs = async (database: Database, call: LockCall): Promise<LockResult[]> => {
  const leases = call.leases.filter(({ jobId }) => database.isId(jobId));
  if (leases.length === 0) return call.leases.map(() => refuse("not_found", undefined));
  if (leases.length === 1) {
    const [only] = leases;
    const [row] = await lockOne(database, call, only!.jobId);
    database.plainLocks.set(call.ctx, row?.["is_plain"] === true ? [only!.jobId] : []);
    return call.leases.map((lease) => judge(lease, lease === only ? row : undefined));
  }
  const rows = await lockMany(database, call, leases);
  if (rows[0]?.["all_plain"] === true) {
    database.plainLocks.set(
      call.ctx,
      leases.map(({ jobId }) => jobId),
    );
    return call.leases.map(() => locked);
  }
  const rowOf = new Map(rows.map((row) => [text(row["id"]), row]));
  const plain = rows.filter((row) => row["is_plain"] === true).map((row) => text(row["id"]));
  database.plainLocks.set(call.ctx, plain);
  return call.leases.map((lease) => judge(lease, rowOf.get(lease.jobId)));
};

// `$4` and `$5` are the types and numbers of attempts of handlers.
const reapSql = (tables: Tables): string => {
  const { schema, job } = tables;
  return `
WITH ${clockCte("$1")},
expired AS MATERIALIZED (
  SELECT j.id, ${expiredLeaseColumns("j")}, j.counted_in,
    ${mayRunAgainSql("j", "($5::int[])[array_position($4::text[], j.type_name)]")} AS may_retry
  FROM ${job} AS j WHERE ${isExpired}
  ORDER BY j.due_at LIMIT $2::int FOR NO KEY UPDATE SKIP LOCKED
),
${keepAttemptsSql(tables, expiredAttemptsSql("expired"))}
UPDATE ${job} AS j SET
  lease_token = NULL,
  leased_by = NULL,
  counted_in = NULL,
  expired_leases = j.expired_leases + 1,
  last_failed_at = j.due_at,
  status = (CASE WHEN expired.may_retry THEN 'pending' ELSE 'failed' END)::${schema}.job_status,
  ready = expired.may_retry,
  scheduled_at = CASE WHEN expired.may_retry THEN j.due_at ELSE j.scheduled_at END,
  finished_at = CASE WHEN expired.may_retry THEN 0 ELSE ${now} END,
  failure_reason = CASE WHEN expired.may_retry THEN NULL ELSE 'attempts_exhausted' END,
  last_error = CASE WHEN expired.may_retry THEN j.last_error ELSE $3 END,
  fingerprint = CASE WHEN expired.may_retry THEN NULL ELSE $6::text END,
  deduplication_open = CASE WHEN j.deduplication_open AND NOT expired.may_retry THEN false ELSE j.deduplication_open END
FROM expired WHERE j.id = expired.id
RETURNING ${lockedColumns("j")}, expired.leased_by AS previously_leased_by, expired.counted_in AS previously_counted_in, ${now} AS now`;
};

// Reads the first row of the index, as in promote.ts.
const firstExpiredSql = ({ job }: Tables): string => `
WITH ${clockCte("$1")}
SELECT (SELECT j.due_at FROM ${job} AS j WHERE j.status = 'running' ORDER BY j.due_at LIMIT 1) <= ${now} AS found`;

/** Skipped in a transaction of the caller, which would hold the lock of a queue until it ends. */
const deleteIdleGroups = async ({ query, limits }: Database, call: Call): Promise<void> => {
  if (!limits.hasGroups || call.ctx !== undefined) return;
  await query(undefined, {
    name: "delete_idle_groups",
    sql: ({ schema }) => `SELECT ${schema}.limit_delete_idle_groups($1::bigint)`,
    params: [call.now ?? null],
  });
};

export const reapExpiredLeases = async (database: Database, call: Call & ReapCall): Promise<ReapedJob[]> => {
  // First, because core repeats the whole call after a conflict: the result of a committed reap would be lost.
  await deleteIdleGroups(database, call);
  return (await hasCandidates(database, call, "expired", firstExpiredSql)) ? reap(database, call) : [];
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
      countedIn: numberOrNull(row["previously_counted_in"]),
    }));
    const deltas = reaped.map(({ job, countedIn }) => ({
      job: { ...job, limitState: { ...job.limitState, countedIn } },
      stops: job.status === "failed" && job.ordered === "stop",
    }));
    await insertDeltas(database, ctx, deltas);
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

// If a lease is valid in the snapshot of the statement and was not renewed, another transaction has locked the job.
const renewSql = ({ job, idType }: Tables): string => `
WITH ${clockCte("$1")},
lease AS MATERIALIZED (
  SELECT * FROM ${unnestParameters([`$2::${idType}[]`, "$3::text[]", "$4::bigint[]", "$5::text[]", "$6::int[]"])} WITH ORDINALITY
    AS t (id, token, ms, progress, last_attempt, ordinal) LIMIT (SELECT 2147483647)
),
held AS MATERIALIZED (
  SELECT j.id FROM ${job} AS j JOIN lease ON lease.id = j.id
  WHERE (j.status = 'running') IS TRUE AND j.lease_token = lease.token AND j.due_at > ${now}
  ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED
),
renewed AS (
  UPDATE ${job} AS j SET due_at = ${now} + lease.ms, progress = coalesce(lease.progress, j.progress),
    attempt = coalesce(lease.last_attempt, j.attempt),
    expired_leases = CASE WHEN lease.last_attempt IS NULL THEN j.expired_leases ELSE -abs(j.expired_leases) END
  FROM held JOIN lease ON lease.id = held.id
  WHERE j.id = held.id AND j.lease_token = lease.token
  RETURNING j.id, j.due_at, lease.ordinal
)
SELECT ${now} AS now, renewed.due_at AS renewed_until, ${leaseStateColumns("j")}
FROM lease LEFT JOIN renewed ON renewed.ordinal = lease.ordinal LEFT JOIN ${job} AS j ON j.id = lease.id
ORDER BY lease.ordinal`;

const toRenewal = (row: SqlRow | undefined, leaseToken: string): RenewalResult => {
  if (row === undefined) return refuse("not_found", undefined);
  if (row["renewed_until"] !== null) return { kind: "renewed", leasedUntil: Number(row["renewed_until"]) };
  const state = toLeaseState(row);
  if (state === undefined) return refuse("not_found", undefined);
  return findRefusal(state, leaseToken, Number(row["now"])) ?? { kind: "busy" };
};

export const renewLeases = async (
  { query, isId }: Database,
  call: Call & RenewLeasesCall,
): Promise<RenewalResult[]> => {
  for (const { leaseMs } of call.leases) assertLeaseDuration(leaseMs);
  const leases = call.leases.filter(({ jobId }) => isId(jobId));
  if (leases.length === 0) return call.leases.map(() => refuse("not_found", undefined));
  const rows = await query(call.ctx, {
    name: "renew",
    sql: renewSql,
    params: [
      call.now ?? null,
      arrayLiteral(leases.map(({ jobId }) => jobId)),
      arrayLiteral(leases.map(({ leaseToken }) => leaseToken)),
      arrayLiteral(leases.map(({ leaseMs }) => leaseMs)),
      arrayLiteral(leases.map(({ progress }) => progress ?? null)),
      arrayLiteral(leases.map(({ lastAttempt }) => lastAttempt ?? null)),
    ],
  });
  const rowOf = new Map(leases.map((lease, index) => [lease, rows[index]]));
  return call.leases.map((lease) => toRenewal(rowOf.get(lease), lease.leaseToken));
};
