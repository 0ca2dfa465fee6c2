import {
  type AttemptOutcome,
  type ListAttemptsCall,
  mostAttempts,
  type StateAttempt,
} from "leasehold/adapter";
import type { Call, Database } from "../../database.ts";
import type { SqlRow } from "../../provider.ts";
import { arrayLiteral, unnestParameters } from "../../sql/array-literal.ts";
import { text, textOrNull } from "../../sql/row-values.ts";
import type { Tables } from "../../tables.ts";

// Only of jobs that exist: a worker of an older version deletes a job and leaves its attempts.
//
// The planner expects ten ids. If the table was small when the plan was made, it would read all of it. With a limit that it
// does not know, it expects one id, and goes by the index.
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
