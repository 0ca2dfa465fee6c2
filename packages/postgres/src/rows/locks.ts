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
  readonly endConcernsOthers: boolean;
  readonly flow: JobFlow;
}

/** Where a job waits, and where it is counted. */
export interface JobFlow {
  readonly lane: string;
  /** Of a job with a group, the lane of its queue and type. */
  readonly home: string | null;
  readonly slots: number | null;
}

export const lockedColumns = (table: string): string =>
  `${jobColumns(table)}, ${table}.lane, ${table}.home, ${table}.watched OR ${table}.deduplication_key IS NOT NULL AS end_concerns_others`;

export const toLockedJob = (row: SqlRow): LockedJob => ({
  ...toStateJob(row),
  endConcernsOthers: row["end_concerns_others"] === true,
  flow: {
    lane: text(row["lane"]),
    home: textOrNull(row["home"]),
    slots: numberOrNull(row["slots"]),
  },
});

/** The job as the contract has it. */
export const asStateJob = ({
  endConcernsOthers: _endConcernsOthers,
  flow: _flow,
  ...job
}: LockedJob): StateJob => job;

/** Locks jobs until the transaction ends. Returns them by id, and the time at which that was asked for. */
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
 * Locks the current job of each sequence, and returns it by sequence id. The transaction that held the lock before may have
 * continued the sequence: then the next job is the one to lock, and so on.
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
    // A job that was locked in the round before is still the latest that this transaction can see: it ends here.
    const found = rows.map(toLockedJob).filter(({ id, sequenceId }) => locked.get(sequenceId)?.id !== id);
    for (const job of found) locked.set(job.sequenceId, job);
    wanted = found.filter(({ continuedToId }) => continuedToId !== null).map(({ sequenceId }) => sequenceId);
  }
  return locked;
};

// No second connection is free if every connection of the pool is held by a transaction that waits for one.
const longestWaitMs = 2_000;

const readOutside = async (database: Database, statement: Statement): Promise<string[]> => {
  const tooLate = () => new StaleSnapshotError("no second connection was free to compare with");
  const rows = await withDeadline(database.query(undefined, statement), longestWaitMs, tooLate);
  return rows.map((row) => text(row["id"]));
};

/**
 * Throws unless the transaction sees all rows that `findIds` finds. The transaction must hold locks that keep others from
 * adding to those.
 *
 * At READ COMMITTED it sees them. At a stricter level a transaction sees what there was when it began, even after it has
 * waited for a lock: it would not see a duplicate, or a dependant, that the transaction before it has inserted. PostgreSQL
 * notices when two transactions change the same row, but these are new rows.
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
