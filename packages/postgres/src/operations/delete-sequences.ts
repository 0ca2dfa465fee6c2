import { type DeletionResult, type JobStatus, referenceTo } from "leasehold/adapter";
import { arrayLiteral } from "../array-literal.ts";
import type { Call, Context, Database } from "../database.ts";
import { jobColumns, toStateJob } from "../job-row.ts";
import type { SqlRow } from "../provider.ts";
import type { Tables } from "../tables.ts";

/** Every job of the trees with these roots. */
export const inTreesSql = (roots: string, alias: string): string =>
  `(${alias}.id = ANY (${roots}) OR (${alias}.root_sequence_id = ANY (${roots}) AND ${alias}.root_sequence_id <> ${alias}.id))`;

const idsOf = (rows: readonly SqlRow[], column: string): string[] => rows.map((row) => row[column] as string);

const dependantRootsSql = ({ job, jobBlocker, idType }: Tables): string => `
SELECT DISTINCT waiting.root_sequence_id FROM ${job} AS blocker
JOIN ${jobBlocker} AS b ON b.sequence_id = blocker.id
JOIN ${job} AS waiting ON waiting.id = b.job_id
WHERE ${inTreesSql(`$1::${idType}[]`, "blocker")} AND waiting.root_sequence_id <> ALL ($1::${idType}[])`;

const deleteJobs = async (
  { query, tables }: Database,
  ctx: Context,
  jobIds: readonly string[],
): Promise<void> => {
  const ids = arrayLiteral(jobIds);
  await query(ctx, {
    name: "delete",
    sql: () => `WITH untied AS (DELETE FROM ${tables.jobBlocker} WHERE job_id = ANY ($1::${tables.idType}[]))
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
      sql: `SELECT ${jobColumns("j")} FROM ${tables.job} AS j
        WHERE ${inTreesSql(`$1::${tables.idType}[]`, "j")} ORDER BY j.id FOR UPDATE OF j`,
      params: [roots],
    });
    const jobs = rows.map(toStateJob);
    const notRoots = jobs
      .filter(({ id, rootSequenceId }) => rootSequenceId !== id && call.rootSequenceIds.includes(id))
      .map(({ id }) => id);
    if (notRoots.length > 0) return { ...nothing, notRoots };
    const dependants = await query(ctx, { sql: dependantRootsSql(tables), params: [roots] });
    if (dependants.length > 0)
      return { ...nothing, dependantRootSequenceIds: idsOf(dependants, "root_sequence_id") };
    await deleteJobs(
      database,
      ctx,
      jobs.map(({ id }) => id),
    );
    return { ...nothing, deleted: jobs.map((job) => ({ ...referenceTo(job), status: job.status })) };
  });

// Only the latest job of a sequence speaks for it; an earlier one has a continuation.
const isUnfitSql = (alias: string): string =>
  `${alias}.continued_to_id IS NULL AND (${alias}.finished_at = 0 OR ${alias}.finished_at >= $1::bigint
    OR ${alias}.status::text <> ALL ($2::text[]))`;

const prunableSql = ({ job, jobBlocker }: Tables): string => `
SELECT root.id FROM ${job} AS root
WHERE root.id = root.root_sequence_id AND root.finished_at > 0 AND root.finished_at < $1::bigint
  AND NOT (${isUnfitSql("root")})
  AND NOT EXISTS (
    SELECT FROM ${job} AS member
    WHERE member.root_sequence_id = root.id AND member.root_sequence_id <> member.id AND ${isUnfitSql("member")})
  AND NOT EXISTS (
    SELECT FROM ${jobBlocker} AS b JOIN ${job} AS waiting ON waiting.id = b.job_id
    WHERE b.sequence_id = root.id AND waiting.root_sequence_id <> root.id)
  AND NOT EXISTS (
    SELECT FROM ${job} AS member JOIN ${jobBlocker} AS b ON b.sequence_id = member.id
    JOIN ${job} AS waiting ON waiting.id = b.job_id
    WHERE member.root_sequence_id = root.id AND member.root_sequence_id <> member.id
      AND waiting.root_sequence_id <> root.id)
ORDER BY root.finished_at LIMIT $3::int FOR UPDATE OF root SKIP LOCKED`;

/** Locks the trees and looks again: a job may have been revived since they were picked. */
const lockPrunable = async (
  { query, tables }: Database,
  ctx: Context,
  roots: readonly string[],
  finishedBefore: number,
  statuses: string,
): Promise<string[]> => {
  const rows = await query(ctx, {
    name: "lock_prunable",
    sql: () => `SELECT member.id, member.root_sequence_id, ${isUnfitSql("member")} AS unfit FROM ${tables.job} AS member
      WHERE ${inTreesSql(`$3::${tables.idType}[]`, "member")} ORDER BY member.id FOR UPDATE OF member`,
    params: [finishedBefore, statuses, arrayLiteral(roots)],
  });
  const unfit = new Set(rows.filter((row) => row["unfit"] === true).map((row) => row["root_sequence_id"]));
  return idsOf(
    rows.filter((row) => !unfit.has(row["root_sequence_id"])),
    "id",
  );
};

export const pruneSequences = (
  database: Database,
  call: Call & {
    readonly finishedBefore: number;
    readonly statuses: readonly (JobStatus & ("completed" | "failed"))[];
    readonly limit: number;
  },
): Promise<number> =>
  database.atomically(call.ctx, async (ctx) => {
    const statuses = arrayLiteral(call.statuses);
    const rows = await database.query(ctx, {
      name: "find_prunable",
      sql: prunableSql,
      params: [call.finishedBefore, statuses, call.limit],
    });
    if (rows.length === 0) return 0;
    const jobIds = await lockPrunable(database, ctx, idsOf(rows, "id"), call.finishedBefore, statuses);
    await deleteJobs(database, ctx, jobIds);
    return jobIds.length;
  });
