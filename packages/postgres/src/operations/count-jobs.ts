import type { JobCount, JobFilter } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { pickColumns } from "../job-rows.ts";
import { filterConditions } from "../job-filter.ts";

const grouped = pickColumns("queue", "typeName", "status");

export const countJobs = async (
  { query, tables, isId }: Database,
  call: Call & { readonly filter: JobFilter },
): Promise<JobCount[]> => {
  const { conditions, params } = filterConditions(tables, isId, call.filter);
  const rows = await query(call.ctx, {
    sql: `SELECT ${grouped.select("j")}, count(*) AS count FROM ${tables.job} AS j
      WHERE ${conditions.join(" AND ")} GROUP BY ${grouped.select("j")}`,
    params,
  });
  return rows.map((row) => ({ ...grouped.read(row), count: Number(row["count"]) }));
};
