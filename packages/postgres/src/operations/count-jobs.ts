import type { JobCount, JobFilter, JobStatus } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { filterConditions } from "../job-filter.ts";

export const countJobs = async (
  { query, tables, isId }: Database,
  call: Call & { readonly filter: JobFilter },
): Promise<JobCount[]> => {
  const { conditions, params } = filterConditions(tables, isId, call.filter);
  const rows = await query(call.ctx, {
    sql: `SELECT queue, type_name, status, count(*) AS count FROM ${tables.job} AS j
      WHERE ${conditions.join(" AND ")} GROUP BY queue, type_name, status`,
    params,
  });
  return rows.map((row) => ({
    queue: row["queue"] as string,
    typeName: row["type_name"] as string,
    status: row["status"] as JobStatus,
    count: Number(row["count"]),
  }));
};
