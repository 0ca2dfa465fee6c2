import {
  type AttemptOutcome,
  interruptedAttempt,
  type ListAttemptsCall,
  mostAttempts,
  type StateAttempt,
  type StateJob,
} from "leasehold/adapter";
import type { Call, Context, Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { arrayLiteral, defineRows, text, textOrNull, unnestParameters } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

// The statement that ends an attempt without completing the job also records the attempt, in a WITH query.

const keys = ["job_id", "lease_version"];

const values = [
  "attempt",
  "due_at",
  "started_at",
  "ended_at",
  "outcome",
  "worker_id",
  "deployment",
  "fingerprint",
  "error",
  "log",
];

const columns = [...keys, ...values].join(", ");

/**
 * Records the attempts that a query returns under the column names of the table, and deletes all but the latest of each job.
 *
 * An expired lease may have a row already: promotion writes one, and the reaper, which has the error, may follow before the
 * job is claimed. A job with few leases cannot have too many attempts, so the deletion skips most jobs.
 */
export const keepAttemptsSql = ({ jobAttempt }: Tables, ended: string): string => `
ended AS MATERIALIZED (${ended}),
kept AS (
  INSERT INTO ${jobAttempt} (${columns}) SELECT ${columns} FROM ended
  ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${values.map((name) => `${name} = excluded.${name}`).join(", ")}
),
trimmed AS (
  DELETE FROM ${jobAttempt} AS a USING ended
  WHERE ended.lease_version > ${mostAttempts} AND a.job_id = ended.job_id AND a.lease_version <= (
    SELECT b.lease_version FROM ${jobAttempt} AS b
    WHERE b.job_id = ended.job_id AND b.lease_version <> ended.lease_version
    ORDER BY b.lease_version DESC LIMIT 1 OFFSET ${mostAttempts - 1}
  )
)`;

/** The columns of a job with an expired lease that `expiredAttemptsSql` reads, as they were before the statement. */
export const expiredLeaseColumns = (table: string): string =>
  ["attempt", "lease_version", "leased_by", "deployment", "scheduled_at", "last_attempt_at", "due_at"]
    .map((name) => `${table}.${name}`)
    .join(", ");

/** The attempts of jobs whose lease has expired: of a table with `id` and `expiredLeaseColumns`. */
export const expiredAttemptsSql = (expired: string): string => `
  SELECT id AS job_id, lease_version, attempt, scheduled_at AS due_at,
    coalesce(last_attempt_at, scheduled_at) AS started_at, due_at AS ended_at, 'expired' AS outcome,
    coalesce(leased_by, '') AS worker_id, deployment, NULL AS fingerprint, NULL AS error, NULL AS log
  FROM ${expired}`;

const attemptRows = defineRows<StateAttempt>((idType) => [
  { name: "job_id", type: idType, read: "jobId" },
  { name: "lease_version", type: "int", read: "leaseVersion" },
  { name: "attempt", type: "int", read: "attempt" },
  { name: "due_at", type: "bigint", read: "dueAt" },
  { name: "started_at", type: "bigint", read: "startedAt" },
  { name: "ended_at", type: "bigint", read: "endedAt" },
  { name: "outcome", type: "text", read: "outcome" },
  { name: "worker_id", type: "text", read: "workerId" },
  { name: "deployment", type: "text", read: "deployment" },
  { name: "fingerprint", type: "text", read: "fingerprint" },
  { name: "error", type: "text", read: "error" },
  { name: "log", type: "text", read: "log" },
]);

/** Records the attempts of locked jobs, as they were before the transaction took their leases. */
export const insertInterrupted = async (
  { query, tables }: Database,
  { ctx, now }: { readonly ctx: Context; readonly now: number },
  ended: readonly { readonly job: StateJob; readonly by: Parameters<typeof interruptedAttempt>[1] }[],
): Promise<void> => {
  const attempts = ended.flatMap(({ job, by }) => interruptedAttempt(job, by, now) ?? []);
  if (attempts.length === 0) return;
  const rows = attemptRows(tables.idType);
  const single = attempts.length === 1;
  await query(ctx, {
    name: `insert_attempts_${single ? "one" : "many"}`,
    sql: () => `WITH ${keepAttemptsSql(tables, `SELECT * FROM ${rows.source("given", 1, single)}`)} SELECT`,
    params: rows.params(attempts),
  });
};

// For an array the planner expects ten ids, and reads the whole table if that was small when the plan was made. For a limit
// from a subquery it expects one id, and goes by the index.
const listSql = ({ job, jobAttempt, idType }: Tables): string => `
SELECT a.* FROM (
  SELECT id FROM ${unnestParameters([`$1::${idType}[]`])} AS id LIMIT (SELECT 2147483647)
) AS asked JOIN ${job} AS j ON j.id = asked.id
CROSS JOIN LATERAL (
  SELECT * FROM ${jobAttempt} AS latest WHERE latest.job_id = j.id ORDER BY latest.lease_version DESC LIMIT ${mostAttempts}
) AS a ORDER BY a.job_id, a.lease_version DESC`;

const toAttempt = (row: SqlRow): StateAttempt => ({
  jobId: text(row["job_id"]),
  leaseVersion: Number(row["lease_version"]),
  attempt: Number(row["attempt"]),
  workerId: text(row["worker_id"]),
  deployment: textOrNull(row["deployment"]),
  dueAt: Number(row["due_at"]),
  startedAt: Number(row["started_at"]),
  endedAt: Number(row["ended_at"]),
  outcome: row["outcome"] as AttemptOutcome,
  fingerprint: textOrNull(row["fingerprint"]),
  error: textOrNull(row["error"]),
  log: textOrNull(row["log"]),
});

export const listAttempts = async (
  { query, isId }: Database,
  call: Call & ListAttemptsCall,
): Promise<StateAttempt[][]> => {
  const rows = await query(call.ctx, {
    name: "list_attempts",
    sql: listSql,
    params: [arrayLiteral([...new Set(call.jobIds)].filter(isId))],
  });
  const byJob = new Map<string, StateAttempt[]>();
  for (const attempt of rows.map(toAttempt))
    byJob.set(attempt.jobId, [...(byJob.get(attempt.jobId) ?? []), attempt]);
  return call.jobIds.map((jobId) => byJob.get(jobId) ?? []);
};
