import { type DeletionResult, referenceTo } from "leasehold/adapter";
import { arrayLiteral } from "../sql/array-literal.ts";
import { text } from "../sql/row-values.ts";
import type { Call, Context, Database } from "../database.ts";
import { leaveNotes } from "../flow/notes.ts";
import { lockedColumns, toLockedJob } from "../lock-jobs.ts";
import type { SqlRow } from "../provider.ts";
import { assertSeesAll } from "../snapshots.ts";
import type { Tables } from "../tables.ts";

/** Every job of the trees with these roots. */
const inTreesSql = (roots: string, alias: string): string =>
  `(${alias}.id = ANY (${roots}) OR (${alias}.root_sequence_id = ANY (${roots}) AND ${alias}.root_sequence_id <> ${alias}.id))`;

const idsOf = (rows: readonly SqlRow[], column: string): string[] => rows.map((row) => text(row[column]));

const dependantsSql = ({ job, jobBlocker, idType }: Tables): string => `
SELECT DISTINCT b.job_id AS id FROM ${job} AS blocker JOIN ${jobBlocker} AS b ON b.sequence_id = blocker.id
WHERE ${inTreesSql(`$1::${idType}[]`, "blocker")}`;

const dependantRootsSql = ({ job, jobBlocker, idType }: Tables): string => `
SELECT DISTINCT waiting.root_sequence_id FROM ${job} AS blocker
JOIN ${jobBlocker} AS b ON b.sequence_id = blocker.id
JOIN ${job} AS waiting ON waiting.id = b.job_id
WHERE ${inTreesSql(`$1::${idType}[]`, "blocker")} AND waiting.root_sequence_id <> ALL ($1::${idType}[])`;

export const deleteJobs = async (
  { query, tables }: Database,
  ctx: Context,
  jobIds: readonly string[],
): Promise<void> => {
  const ids = arrayLiteral(jobIds);
  // Without a name, so that the plan is made for the table as it is now.
  await query(ctx, {
    sql: `WITH untied AS (DELETE FROM ${tables.jobBlocker} WHERE job_id = ANY ($1::${tables.idType}[])),
      forgotten AS (DELETE FROM ${tables.jobAttempt} WHERE job_id = ANY ($1::${tables.idType}[]))
      DELETE FROM ${tables.job} WHERE id = ANY ($1::${tables.idType}[])`,
    params: [ids],
  });
};

export const deleteSequences = (
  database: Database,
  call: Call & { readonly rootSequenceIds: readonly string[] },
): Promise<DeletionResult> =>
  database.atomically(call.ctx, async (ctx) => {
    const { query, tables } = database;
    const roots = arrayLiteral([...new Set(call.rootSequenceIds)].filter(database.isId));
    const nothing = { deleted: [], notRoots: [], dependantRootSequenceIds: [] };
    const rows = await query(ctx, {
      sql: `SELECT ${lockedColumns("j")} FROM ${tables.job} AS j
        WHERE ${inTreesSql(`$1::${tables.idType}[]`, "j")} ORDER BY j.id FOR UPDATE OF j`,
      params: [roots],
    });
    const jobs = rows.map(toLockedJob);
    const notRoots = jobs
      .filter(({ id, rootSequenceId }) => rootSequenceId !== id && call.rootSequenceIds.includes(id))
      .map(({ id }) => id);
    if (notRoots.length > 0) return { ...nothing, notRoots };
    await assertSeesAll(database, ctx, { sql: dependantsSql(tables), params: [roots] });
    const dependants = await query(ctx, { sql: dependantRootsSql(tables), params: [roots] });
    if (dependants.length > 0)
      return { ...nothing, dependantRootSequenceIds: idsOf(dependants, "root_sequence_id") };
    await deleteJobs(
      database,
      ctx,
      jobs.map(({ id }) => id),
    );
    await leaveNotes(
      database,
      ctx,
      jobs.map((job) => ({ job, resumes: job.ordered === "stop" && job.status === "failed" })),
    );
    return { ...nothing, deleted: jobs.map((job) => ({ ...referenceTo(job), status: job.status })) };
  });
