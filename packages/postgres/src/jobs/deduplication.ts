import { isWaiting, type NewJob, type NewJobDeduplication, type StateJob } from "leasehold/adapter";
import { type Call, type Context, type Database, isReadCommitted } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { arrayLiteral, clockCte, jobStatus, now } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { jobColumns, toStateJob } from "../rows/job-table.ts";
import { assertSeesAll, type LockedJob } from "../rows/locks.ts";

interface Keyed {
  readonly sequenceTypeName: string;
  readonly deduplicationKey: string;
}

interface KeyedJob {
  readonly job: NewJob;
  readonly deduplication: NewJobDeduplication;
}

const keyedJobs = (jobs: readonly NewJob[]): KeyedJob[] =>
  jobs.flatMap((job) => (job.deduplication === null ? [] : [{ job, deduplication: job.deduplication }]));

const newestWithKeysSql = ({ job }: Tables): string => `
SELECT found.id FROM unnest($1::text[], $2::text[]) AS asked (sequence_type_name, key)
CROSS JOIN unnest(ARRAY[true, false]) AS live
CROSS JOIN LATERAL (
  SELECT j.id FROM ${job} AS j
  WHERE j.sequence_type_name = asked.sequence_type_name AND j.deduplication_key = asked.key AND j.deduplication_open = live
  ORDER BY j.created_at DESC, j.position DESC LIMIT 1
) AS found`;

/**
 * Locks the keys until the transaction ends. What the previous holders of these locks have started is in the snapshot then, or
 * the call is refused.
 */
export const lockKeys = async (database: Database, ctx: Context, keys: readonly Keyed[]): Promise<void> => {
  const { tables, query } = database;
  const names = new Set(
    keys.map((key) => `${key.sequenceTypeName.length}:${key.sequenceTypeName}${key.deduplicationKey}`),
  );
  if (names.size === 0) return;
  const [row] = await query(ctx, {
    name: "lock_keys",
    // In the order of the numbers, so that two calls with the same keys cannot deadlock.
    sql: () => `SELECT pg_advisory_xact_lock(lock)::text, current_setting('transaction_isolation') AS level FROM (
      SELECT DISTINCT hashtextextended($1 || name, 0) AS lock FROM unnest($2::text[]) AS name ORDER BY lock
    ) AS locks`,
    params: [`leasehold key of ${tables.schema} `, arrayLiteral([...names])],
  });
  if (isReadCommitted(row?.["level"])) return;
  await assertSeesAll(database, ctx, {
    name: "newest_with_keys",
    sql: newestWithKeysSql,
    params: [
      arrayLiteral(keys.map(({ sequenceTypeName }) => sequenceTypeName)),
      arrayLiteral(keys.map(({ deduplicationKey }) => deduplicationKey)),
    ],
  });
};

export const lockDeduplicationKeys = (
  database: Database,
  ctx: Context,
  jobs: readonly NewJob[],
): Promise<void> =>
  lockKeys(
    database,
    ctx,
    keyedJobs(jobs).map(({ job, deduplication }) => ({
      sequenceTypeName: job.sequenceTypeName,
      deduplicationKey: deduplication.key,
    })),
  );

const newestSql = (tables: Tables, deduplicationLive: string): string => `
  SELECT ${jobColumns("j")}, j.position AS position, j.deduplication_open AS deduplication_live FROM ${tables.job} AS j
  WHERE j.sequence_type_name = asked.sequence_type_name AND j.deduplication_key = asked.key AND j.deduplication_open = ${deduplicationLive}
  ORDER BY j.created_at DESC, j.position DESC LIMIT 1`;

/** `waiting`: also the newest sequence whose first job waits. */
const findSql = (tables: Tables, waiting: boolean): string => {
  const newest = ["true", "false", ...(waiting ? ["true AND j.status IN ('pending', 'blocked')"] : [])];
  return `
WITH ${clockCte("$3")}
SELECT asked.ordinal AS ordinal, ${now} AS now, found.*
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (sequence_type_name, key, ordinal)
CROSS JOIN LATERAL (${newest.map((live) => `(${newestSql(tables, live)})`).join(" UNION ALL ")}) AS found`;
};

/** Whether a sequence counts, by the row of its first job. */
const isInScope = (row: SqlRow, scope: NewJobDeduplication["scope"]): boolean => {
  if (scope === "all") return true;
  return (
    row["deduplication_live"] === true && (scope === "unfinished" || isWaiting(jobStatus(row["status"])))
  );
};

/**
 * For each job with a key, the sequence that it would duplicate: one that is stored, or an earlier job of the same call. The
 * keys have to be locked.
 */
export const findDuplicates = async (
  { query }: Database,
  call: Call,
  jobs: readonly NewJob[],
): Promise<Map<NewJob, StateJob | NewJob>> => {
  const asked = keyedJobs(jobs);
  const waiting = asked.some(({ deduplication }) => deduplication.scope === "pending");
  const rows = await query(call.ctx, {
    name: `find_duplicates${waiting ? "_waiting" : ""}`,
    sql: (tables) => findSql(tables, waiting),
    params: [
      arrayLiteral(asked.map(({ job }) => job.sequenceTypeName)),
      arrayLiteral(asked.map(({ deduplication }) => deduplication.key)),
      call.now ?? null,
    ],
  });
  const duplicates = new Map<NewJob, StateJob | NewJob>();
  for (const [index, { job, deduplication }] of asked.entries()) {
    const { key, scope, windowMs } = deduplication;
    const earlier = asked.find(
      (other, position) =>
        position < index &&
        other.job.sequenceTypeName === job.sequenceTypeName &&
        other.deduplication.key === key &&
        duplicates.get(other.job) === undefined,
    );
    // It is being created now, so it is within any window and not finished.
    if (earlier !== undefined) {
      duplicates.set(job, earlier.job);
      continue;
    }
    const [newest] = rows
      .filter((row) => Number(row["ordinal"]) === index + 1)
      .filter((row) => isInScope(row, scope))
      .sort(
        (a, b) =>
          Number(b["created_at"]) - Number(a["created_at"]) || Number(b["position"]) - Number(a["position"]),
      );
    if (newest === undefined) continue;
    const within = windowMs === null || Number(newest["created_at"]) > Number(newest["now"]) - windowMs;
    if (within) duplicates.set(job, toStateJob(newest));
  }
  return duplicates;
};

/**
 * Sets whether the sequences of these jobs are unfinished for deduplication. The first job of a sequence has that and the key.
 * The statement that ends or revives a first job sets it as well.
 */
export const setDeduplicationLive = async (
  { query, tables }: Database,
  ctx: Context,
  jobs: readonly LockedJob[],
  live: boolean,
): Promise<void> => {
  const sequenceIds = jobs
    .filter(({ hasDependants, sequenceIndex }) => hasDependants && sequenceIndex > 0)
    .map(({ sequenceId }) => sequenceId);
  if (sequenceIds.length === 0) return;
  await query(ctx, {
    name: "set_deduplication_live",
    sql: () => `UPDATE ${tables.job} SET deduplication_open = $2::boolean
      WHERE id = ANY ($1::${tables.idType}[]) AND deduplication_key IS NOT NULL`,
    params: [arrayLiteral(sequenceIds), live],
  });
};
