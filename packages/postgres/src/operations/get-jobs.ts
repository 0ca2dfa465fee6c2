import type { StateJob } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { jobColumns } from "../job-columns.ts";
import { toStateJob } from "../job-rows.ts";
import { arrayLiteral } from "../sql/array-literal.ts";

export const getJobs = async (
  { query, tables, isId }: Database,
  call: Call & { readonly jobIds: readonly string[] },
): Promise<(StateJob | undefined)[]> => {
  const rows = await query(call.ctx, {
    name: "get_jobs",
    sql: () => `SELECT ${jobColumns("j")} FROM ${tables.job} AS j WHERE j.id = ANY ($1::${tables.idType}[])`,
    params: [arrayLiteral(call.jobIds.filter(isId))],
  });
  const found = new Map(rows.map(toStateJob).map((job) => [job.id, job]));
  return call.jobIds.map((id) => found.get(id));
};
