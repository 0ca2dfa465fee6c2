import {
  type DeletionResult,
  dropNeededTrees,
  type FinishedJob,
  isPastRetention,
  type JobReference,
  type PruneBounds,
  type PruneResult,
  type PruneRule,
  type PruneRules,
  readPruneRules,
  referenceTo,
} from "leasehold/adapter";
import { byIndexOnly, type Call, type Context, type Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { arrayLiteral, jobStatus, text } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { insertDeltas } from "../limits/deltas.ts";
import { referenceColumns } from "../rows/job-table.ts";
import { assertSeesAll, lockedColumns, toLockedJob } from "../rows/locks.ts";

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

const deleteJobs = async (
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
    await insertDeltas(
      database,
      ctx,
      jobs.map((job) => ({ job, resumes: job.ordered === "stop" && job.status === "failed" })),
    );
    return { ...nothing, deleted: jobs.map((job) => ({ ...referenceTo(job), status: job.status })) };
  });

interface PruneCall extends Call {
  readonly rules: readonly PruneRule[];
  readonly limit: number;
  readonly after: string | null;
  readonly alone?: boolean;
}

/** The position of a pass in the order of `finished_at`. */
interface Position {
  readonly finishedAt: number;
  /** The roots that finished at this time and that the pass did not delete. */
  readonly passed: readonly string[];
}

interface TreeJob extends FinishedJob {
  readonly id: string;
  readonly rootId: string;
  readonly typeName: string;
  readonly finishedAt: number;
}

interface Tree {
  readonly root: TreeJob;
  readonly bounds: PruneBounds;
  readonly jobs: TreeJob[];
}

// The least size of a page: even a small one takes several round trips.
const smallestPage = 1_000;

const stateColumns = "id, status, finished_at, continued_to_id";

const columns = `${stateColumns}, root_sequence_id, sequence_type_name`;

const toFinishedJob = (row: SqlRow): FinishedJob & { readonly finishedAt: number } => ({
  status: jobStatus(row["status"]),
  finishedAt: Number(row["finished_at"]),
  isContinued: row["continued_to_id"] !== null,
});

const toTreeJob = (row: SqlRow): TreeJob => ({
  ...toFinishedJob(row),
  id: text(row["id"]),
  rootId: text(row["root_sequence_id"]),
  typeName: text(row["sequence_type_name"]),
});

/** False while another transaction with `alone` prunes. The lock ends with the transaction. */
const lockPruning = async ({ query, tables }: Database, ctx: Context): Promise<boolean> => {
  const [row] = await query(ctx, {
    sql: "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS taken",
    params: [`leasehold pruning of ${tables.schema}`],
  });
  return row?.["taken"] === true;
};

// Without names: a prepared statement keeps a plan for another table size, made without the settings of `byIndexOnly`.
const pageSql = ({ job, idType }: Tables): string => `
SELECT ${columns} FROM ${job}
WHERE finished_at > 0 AND id = root_sequence_id AND finished_at >= $1::bigint AND finished_at < $2::bigint
  AND NOT (finished_at = $1::bigint AND id = ANY ($3::${idType}[]))
ORDER BY finished_at LIMIT $4::int`;

const membersSql = ({ job, idType }: Tables): string => `
SELECT ${columns} FROM ${job} WHERE root_sequence_id = ANY ($1::${idType}[]) AND root_sequence_id <> id`;

const lockSql = ({ job, idType }: Tables): string => `
SELECT ${stateColumns} FROM ${job} WHERE id = ANY ($1::${idType}[]) FOR UPDATE SKIP LOCKED`;

const dependenciesSql = ({ job, jobBlocker, idType }: Tables): string => `
SELECT b.sequence_id, waiting.root_sequence_id FROM ${jobBlocker} AS b JOIN ${job} AS waiting ON waiting.id = b.job_id
WHERE b.sequence_id = ANY ($1::${idType}[])`;

const readPage = async (
  { query, tables }: Database,
  ctx: Context,
  after: Position,
  before: number,
  limit: number,
): Promise<TreeJob[]> => {
  const rows = await query(ctx, {
    sql: pageSql(tables),
    params: [after.finishedAt, before, arrayLiteral(after.passed), limit],
  });
  return rows.map(toTreeJob);
};

/** The trees of these roots of which every job is past its retention, in the order of the roots. */
const findPrunable = async (
  { query, tables }: Database,
  ctx: Context,
  roots: readonly TreeJob[],
  rules: PruneRules,
): Promise<Tree[]> => {
  const trees = new Map<string, Tree>();
  for (const root of roots) {
    const bounds = rules.boundsFor(root.typeName);
    if (bounds && isPastRetention(bounds, root)) trees.set(root.id, { root, bounds, jobs: [root] });
  }
  if (trees.size === 0) return [];
  const rows = await query(ctx, { sql: membersSql(tables), params: [arrayLiteral([...trees.keys()])] });
  for (const member of rows.map(toTreeJob)) {
    const tree = trees.get(member.rootId);
    if (tree === undefined) continue;
    tree.jobs.push(member);
    if (!isPastRetention(tree.bounds, member)) trees.delete(member.rootId);
  }
  return [...trees.values()];
};

/** Locks whole trees, without waiting, and checks them again: a job may have been redriven since it was read. */
const lockTrees = async (
  { query, tables }: Database,
  ctx: Context,
  trees: readonly Tree[],
): Promise<Tree[]> => {
  const ids = trees.flatMap(({ jobs }) => jobs.map(({ id }) => id)).sort();
  const rows = await query(ctx, { sql: lockSql(tables), params: [arrayLiteral(ids)] });
  const locked = new Map(rows.map((row) => [text(row["id"]), toFinishedJob(row)]));
  return trees.filter(({ bounds, jobs }) =>
    jobs.every(({ id }) => {
      const job = locked.get(id);
      return job !== undefined && isPastRetention(bounds, job);
    }),
  );
};

/** Leaves out trees with dependants. The trees are locked, so that no new dependants can be added. */
const dropNeeded = async (
  { query, tables }: Database,
  ctx: Context,
  trees: readonly Tree[],
): Promise<Tree[]> => {
  const rootOf = new Map(trees.flatMap(({ jobs }) => jobs.map(({ id, rootId }) => [id, rootId])));
  const rows = await query(ctx, {
    sql: dependenciesSql(tables),
    params: [arrayLiteral([...rootOf.keys()])],
  });
  const dependencies = rows.map((row) => ({
    rootId: rootOf.get(text(row["sequence_id"]))!,
    dependantRootId: text(row["root_sequence_id"]),
  }));
  const going = dropNeededTrees(
    trees.map(({ root }) => root.id),
    dependencies,
  );
  return trees.filter(({ root }) => going.has(root.id));
};

/** The references of the failed jobs. Most pruned jobs have completed, and are not read again. */
const readFailed = async (
  { query, tables: { job, idType } }: Database,
  ctx: Context,
  trees: readonly Tree[],
): Promise<JobReference[]> => {
  const failed = trees.flatMap(({ jobs }) => jobs).filter(({ status }) => status === "failed");
  if (failed.length === 0) return [];
  const rows = await query(ctx, {
    sql: `SELECT ${referenceColumns.select("j")} FROM ${job} AS j WHERE j.id = ANY ($1::${idType}[])`,
    params: [arrayLiteral(failed.map(({ id }) => id))],
  });
  return rows.map(referenceColumns.read);
};

const positionAfter = (
  before: Position,
  decided: readonly TreeJob[],
  removed: ReadonlySet<string>,
): Position => {
  const finishedAt = decided.at(-1)!.finishedAt;
  const passed = decided.filter((root) => root.finishedAt === finishedAt && !removed.has(root.id));
  return {
    finishedAt,
    passed: [...(before.finishedAt === finishedAt ? before.passed : []), ...passed.map(({ id }) => id)],
  };
};

export const pruneSequences = (database: Database, call: PruneCall): Promise<PruneResult | null> =>
  byIndexOnly(database, call.ctx, async (ctx) => {
    const rules = readPruneRules(call.rules);
    if (rules.latest === null) return { deletedJobs: 0, failedJobs: [], next: null };
    if (call.alone === true && !(await lockPruning(database, ctx))) return null;
    const after: Position = call.after === null ? { finishedAt: 1, passed: [] } : JSON.parse(call.after);
    const size = Math.max(call.limit, smallestPage);
    const page = await readPage(database, ctx, after, rules.latest, size);
    const prunable = await findPrunable(database, ctx, page, rules);
    const chosen = prunable.slice(0, call.limit);
    const isWhole = prunable.length <= call.limit;
    const decided = isWhole ? page : page.slice(0, page.indexOf(chosen.at(-1)!.root) + 1);

    const locked = chosen.length === 0 ? [] : await lockTrees(database, ctx, chosen);
    const going = locked.length === 0 ? [] : await dropNeeded(database, ctx, locked);
    const jobIds = going.flatMap(({ jobs }) => jobs.map(({ id }) => id));
    const failedJobs = await readFailed(database, ctx, going);
    if (jobIds.length > 0) await deleteJobs(database, ctx, jobIds);
    const isLast = isWhole && page.length < size;
    const removed = new Set(going.map(({ root }) => root.id));
    const next = isLast ? null : JSON.stringify(positionAfter(after, decided, removed));
    return { deletedJobs: jobIds.length, failedJobs, next };
  });
