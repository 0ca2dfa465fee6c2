import type {
  JobCount,
  JobFilter,
  JobPage,
  ListBlockedJobsCall,
  LockSequenceCall,
  StateJob,
  StateSequence,
} from "leasehold/adapter";
import type { Call, Context, Database } from "../database/database.ts";
import { arrayLiteral, unnestParameters } from "../database/sql.ts";
import { jobColumns, pickColumns, toStateJob } from "../rows/job-table.ts";
import { asStateJob, currentJobIdSql, lockCurrentJobs } from "../rows/locks.ts";
import { filterConditions } from "./filter.ts";

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

/** One statement, so that the first and the current job are from one snapshot. */
export const getSequences = async (
  { query, tables, isId }: Database,
  call: Call & { readonly sequenceIds: readonly string[] },
): Promise<(StateSequence | undefined)[]> => {
  const rows = await query(call.ctx, {
    name: "get_sequences",
    sql: () => `WITH wanted AS MATERIALIZED (SELECT DISTINCT id FROM ${unnestParameters([`$1::${tables.idType}[]`])} AS t (id))
      SELECT ${jobColumns("j")} FROM ${tables.job} AS j WHERE j.id = ANY (ARRAY(
        SELECT id FROM wanted UNION SELECT ${currentJobIdSql(tables, "wanted.id")} FROM wanted
      ))`,
    params: [arrayLiteral(call.sequenceIds.filter(isId))],
  });
  const firsts = new Map<string, StateJob>();
  const latest = new Map<string, StateJob>();
  for (const job of rows.map(toStateJob)) {
    if (job.sequenceIndex === 0) firsts.set(job.id, job);
    const known = latest.get(job.sequenceId);
    if (known === undefined || known.sequenceIndex < job.sequenceIndex) latest.set(job.sequenceId, job);
  }
  return call.sequenceIds.map((id) => {
    const [first, current] = [firsts.get(id), latest.get(id)];
    return first === undefined || current === undefined ? undefined : { first, current };
  });
};

/** A page of jobs. One more than `limit` was read to find out whether there is a next page. */
export const toPage = (jobs: readonly StateJob[], limit: number): JobPage => {
  const page = jobs.slice(0, limit);
  const last = page.at(-1);
  const next = jobs.length > limit && last !== undefined ? { createdAt: last.createdAt, id: last.id } : null;
  return { jobs: page, next };
};

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

export const lockSequence = async (
  database: Database,
  call: Call & LockSequenceCall & { readonly ctx: Context },
): Promise<StateSequence | undefined> => {
  const locked = (await lockCurrentJobs(database, call.ctx, [call.sequenceId])).get(call.sequenceId);
  if (locked === undefined) return undefined;
  const current = asStateJob(locked);
  if (current.id === call.sequenceId) return { first: current, current };
  const [first] = await getJobs(database, { ctx: call.ctx, jobIds: [call.sequenceId] });
  return first && { first, current };
};
