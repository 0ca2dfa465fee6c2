import type { JobPage, ListBlockedJobsCall } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { jobColumns } from "../job-columns.ts";
import { toStateJob } from "../job-rows.ts";
import { toPage } from "../page.ts";

export const listBlockedJobs = async (
  { query, tables, isId }: Database,
  call: Call & ListBlockedJobsCall,
): Promise<JobPage> => {
  if (!isId(call.sequenceId) || (call.after !== null && !isId(call.after.id)))
    return { jobs: [], next: null };
  const rows = await query(call.ctx, {
    sql: `SELECT ${jobColumns("j")} FROM ${tables.job} AS j
      WHERE j.id IN (SELECT job_id FROM ${tables.jobBlocker} WHERE sequence_id = $1::${tables.idType})
        AND ($2::bigint IS NULL OR (j.created_at, j.id) > ($2::bigint, $3::${tables.idType}))
      ORDER BY j.created_at, j.id LIMIT $4::int`,
    params: [call.sequenceId, call.after?.createdAt ?? null, call.after?.id ?? null, call.limit + 1],
  });
  return toPage(rows.map(toStateJob), call.limit);
};
