import type {
  JobCount,
  JobFilter,
  JobPage,
  JobStatus,
  PagePosition,
  StateJob,
  StateSequence,
} from "leasehold/adapter";
import { arrayLiteral } from "../array-literal.ts";
import type { Call, Database } from "../database.ts";
import { jobColumns, toStateJob } from "../job-row.ts";
import { filterConditions } from "./job-filter.ts";
import { currentJobIdSql } from "./lock-current-jobs.ts";

const byId = (jobs: readonly StateJob[]): Map<string, StateJob> => new Map(jobs.map((job) => [job.id, job]));

export const getJobs = async (
  { query, tables, isId }: Database,
  call: Call & { readonly jobIds: readonly string[] },
): Promise<(StateJob | undefined)[]> => {
  const rows = await query(call.ctx, {
    name: "get_jobs",
    sql: () => `SELECT ${jobColumns("j")} FROM ${tables.job} AS j WHERE j.id = ANY ($1::${tables.idType}[])`,
    params: [arrayLiteral(call.jobIds.filter(isId))],
  });
  const found = byId(rows.map(toStateJob));
  return call.jobIds.map((id) => found.get(id));
};

/** One statement, so that both jobs are of the same moment. */
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
  const firsts = byId(jobs.filter(({ sequenceIndex }) => sequenceIndex === 0));
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

export interface PageCall extends Call {
  readonly limit: number;
  readonly after: PagePosition | null;
}

export const toPage = (jobs: readonly StateJob[], limit: number): JobPage => {
  const page = jobs.slice(0, limit);
  const last = page.at(-1);
  const next = jobs.length > limit && last !== undefined ? { createdAt: last.createdAt, id: last.id } : null;
  return { jobs: page, next };
};

export const getBlockers = async (
  database: Database,
  call: Call & { readonly jobIds: readonly string[] },
): Promise<StateSequence[][]> => {
  const { query, tables, isId } = database;
  const rows = await query(call.ctx, {
    name: "get_blockers",
    sql: () => `SELECT job_id, sequence_id FROM ${tables.jobBlocker} WHERE job_id = ANY ($1::${tables.idType}[])
      ORDER BY job_id, blocker_index`,
    params: [arrayLiteral(call.jobIds.filter(isId))],
  });
  const sequenceIds = rows.map((row) => row["sequence_id"] as string);
  const sequences = sequenceIds.length === 0 ? [] : await getSequences(database, { ...call, sequenceIds });
  return call.jobIds.map((jobId) =>
    rows.flatMap((row, index) => (row["job_id"] === jobId && sequences[index] ? [sequences[index]] : [])),
  );
};

export const listBlockedJobs = async (
  { query, tables, isId }: Database,
  call: PageCall & { readonly sequenceId: string },
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
