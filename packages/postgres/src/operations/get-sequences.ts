import type { StateJob, StateSequence } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { jobColumns } from "../job-columns.ts";
import { toStateJob } from "../job-rows.ts";
import { currentJobIdSql } from "../lock-current-jobs.ts";
import { arrayLiteral } from "../sql/array-literal.ts";

/** One statement, so that the first and the current job are read at the same moment. */
export const getSequences = async (
  { query, tables, isId }: Database,
  call: Call & { readonly sequenceIds: readonly string[] },
): Promise<(StateSequence | undefined)[]> => {
  const rows = await query(call.ctx, {
    name: "get_sequences",
    sql: () => `WITH wanted AS MATERIALIZED (SELECT DISTINCT id FROM unnest($1::${tables.idType}[]) AS t (id))
      SELECT ${jobColumns("j")} FROM ${tables.job} AS j WHERE j.id = ANY (ARRAY(
        SELECT id FROM wanted UNION SELECT ${currentJobIdSql(tables, "wanted.id")} FROM wanted
      ))`,
    params: [arrayLiteral(call.sequenceIds.filter(isId))],
  });
  const jobs = rows.map(toStateJob);
  const firsts = new Map(jobs.filter(({ sequenceIndex }) => sequenceIndex === 0).map((job) => [job.id, job]));
  const latest = new Map<string, StateJob>();
  for (const job of jobs) {
    const known = latest.get(job.sequenceId);
    if (known === undefined || known.sequenceIndex < job.sequenceIndex) latest.set(job.sequenceId, job);
  }
  return call.sequenceIds.map((id) => {
    const [first, current] = [firsts.get(id), latest.get(id)];
    return first === undefined || current === undefined ? undefined : { first, current };
  });
};
