import { type StateJob, withDeadline } from "leasehold/adapter";
import type { Call, Context, Database, Statement } from "../database/database.ts";
import { StaleSnapshotError } from "../database/errors.ts";
import type { SqlRow } from "../database/provider.ts";
import { arrayLiteral, clockCte, now, numberOrNull, text, textOrNull } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { jobColumns, toStateJob } from "./job-table.ts";

/** A job whose row the transaction has locked. */
export interface LockedJob extends StateJob {
  /** The end of its sequence changes other rows: jobs that wait for it, or its first job, which has the deduplication key. */
  readonly hasDependants: boolean;
  readonly limitState: JobLimitState;
}

/** The place of a job in the claim index, and the counters that it is in. */
interface JobLimitState {
  readonly claimKey: string;
  /** Null for a job without a group, whose claim key is its queue type. */
  readonly queueType: string | null;
  readonly countedIn: number | null;
}

export const lockedColumns = (table: string): string =>
  `${jobColumns(table)}, ${table}.claim_key, ${table}.queue_type,
  ${table}.has_dependants OR ${table}.deduplication_key IS NOT NULL AS has_dependants`;

export const toLockedJob = (row: SqlRow): LockedJob => ({
  ...toStateJob(row),
  hasDependants: row["has_dependants"] === true,
  limitState: {
    claimKey: text(row["claim_key"]),
    queueType: textOrNull(row["queue_type"]),
    countedIn: numberOrNull(row["counted_in"]),
  },
});

/** The job without what only this store reads. */
export const asStateJob = ({
  hasDependants: _hasDependants,
  limitState: _limitState,
  ...job
}: LockedJob): StateJob => job;

/** Locks jobs until the transaction ends. Returns them by id, and the time of the statement. */
export const lockJobs = async (
  { query, tables, isId }: Database,
  call: Call & { readonly ctx: Context },
  jobIds: readonly string[],
): Promise<{ readonly jobs: Map<string, LockedJob>; readonly at: number }> => {
  const rows = await query(call.ctx, {
    name: "lock_jobs",
    sql: () => `WITH ${clockCte("$1")}, locked AS MATERIALIZED (
        SELECT ${lockedColumns("j")} FROM ${tables.job} AS j WHERE j.id = ANY ($2::${tables.idType}[])
        ORDER BY j.id FOR NO KEY UPDATE OF j
      )
      SELECT ${now} AS now, locked.* FROM (SELECT) AS always LEFT JOIN locked ON true`,
    params: [call.now ?? null, arrayLiteral(jobIds.filter(isId))],
  });
  const jobs = rows.filter((row) => row["id"] !== null).map(toLockedJob);
  return { jobs: new Map(jobs.map((job) => [job.id, job])), at: Number(rows[0]?.["now"]) };
};

/** The id of the latest job of the sequence whose id the expression gives; null when there is no such sequence. */
export const currentJobIdSql = ({ job }: Tables, sequenceId: string): string => `coalesce(
  (SELECT id FROM ${job} WHERE sequence_id = ${sequenceId} AND sequence_index > 0
   ORDER BY sequence_index DESC LIMIT 1),
  (SELECT id FROM ${job} WHERE id = ${sequenceId} AND sequence_index = 0))`;

const lockSql = (tables: Tables): string => `
SELECT ${lockedColumns("j")} FROM ${tables.job} AS j
WHERE j.id = ANY (ARRAY(
  SELECT ${currentJobIdSql(tables, "wanted.sequence_id")} FROM unnest($1::${tables.idType}[]) AS wanted (sequence_id)
))
ORDER BY j.id FOR NO KEY UPDATE OF j`;

/**
 * Locks the current job of each sequence and returns it by sequence id. While this transaction waited, another one may have
 * continued the sequence: then the next job is locked, and so on.
 */
export const lockCurrentJobs = async (
  { query, isId }: Database,
  ctx: Context,
  sequenceIds: readonly string[],
): Promise<Map<string, LockedJob>> => {
  const locked = new Map<string, LockedJob>();
  let wanted = [...new Set(sequenceIds)].filter(isId);
  while (wanted.length > 0) {
    const rows = await query(ctx, {
      name: "lock_current",
      sql: lockSql,
      params: [arrayLiteral(wanted)],
    });
    // A job that was locked in the previous round is still the latest in the snapshot of this transaction: stop.
    const found = rows.map(toLockedJob).filter(({ id, sequenceId }) => locked.get(sequenceId)?.id !== id);
    for (const job of found) locked.set(job.sequenceId, job);
    wanted = found.filter(({ continuedToId }) => continuedToId !== null).map(({ sequenceId }) => sequenceId);
  }
  return locked;
};

// If each connection of the pool belongs to a transaction that waits for a second one, none becomes free.
const longestWaitMs = 2_000;

const readOutside = async (database: Database, statement: Statement): Promise<string[]> => {
  const tooLate = () => new StaleSnapshotError("no second connection was free to compare with");
  const rows = await withDeadline(database.query(undefined, statement), longestWaitMs, tooLate);
  return rows.map((row) => text(row["id"]));
};

/**
 * Throws unless the snapshot of the transaction contains all rows that `findIds` finds. The transaction must hold locks that
 * prevent further such rows.
 *
 * At READ COMMITTED it always does. At a stricter level the snapshot is from the start of the transaction, even after it has
 * waited for a lock: a duplicate or dependant that the previous holder of the lock inserted would be missing. PostgreSQL
 * detects conflicts of two updates of one row, but not of new rows.
 */
export const assertSeesAll = async (database: Database, ctx: Context, findIds: Statement): Promise<void> => {
  if (await database.seesLatest(ctx)) return;
  const ids = await readOutside(database, findIds);
  if (ids.length === 0) return;
  const { job, idType } = database.tables;
  const seen = await database.query(ctx, {
    sql: `SELECT id FROM ${job} WHERE id = ANY ($1::${idType}[])`,
    params: [arrayLiteral(ids)],
  });
  if (seen.length < new Set(ids).size) throw new StaleSnapshotError("others have committed since it began");
};
