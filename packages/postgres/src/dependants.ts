import { blockerErrorText, type JobReference, referenceTo } from "leasehold/adapter";
import { arrayLiteral } from "./sql/array-literal.ts";
import { textList } from "./sql/row-values.ts";
import type { Context, Database } from "./database.ts";
import { assertSeesAll } from "./snapshots.ts";
import type { Tables } from "./tables.ts";
import { lockedColumns, type LockedJob, toLockedJob } from "./lock-jobs.ts";

// What the end of a sequence does to others. All of it happens in the transaction that ends the sequence, with the rows
// concerned locked: of two blockers that finish together, the later one sees what the earlier has done.

export interface TimedTransaction {
  readonly ctx: Context;
  readonly now: number;
}

/** What followed from the end of one sequence. */
export interface Ends {
  readonly unblocked: readonly JobReference[];
  readonly cascaded: readonly JobReference[];
}

interface Dependant {
  readonly job: LockedJob;
  /** Those of the sequences asked about that it waits for, once for each time it was given them. */
  readonly blockerIds: readonly string[];
}

const dependantsSql = ({ job, jobBlocker, idType }: Tables): string => `
WITH waiting AS MATERIALIZED (
  SELECT job_id, array_agg(sequence_id::text ORDER BY blocker_index) AS blocker_ids FROM ${jobBlocker}
  WHERE sequence_id = ANY ($1::${idType}[]) GROUP BY job_id
)
SELECT ${lockedColumns("j")}, array_to_json(waiting.blocker_ids)::text AS blocker_ids
FROM ${job} AS j JOIN waiting ON waiting.job_id = j.id
ORDER BY j.id FOR NO KEY UPDATE OF j`;

/** Locks the jobs that were given one of the sequences as blocker, whose current jobs the transaction has locked. */
export const lockDependants = async (
  database: Database,
  ctx: Context,
  sequenceIds: readonly string[],
): Promise<Dependant[]> => {
  if (sequenceIds.length === 0) return [];
  await assertSeesAll(database, ctx, {
    name: "find_dependants",
    sql: ({ jobBlocker, idType }) =>
      `SELECT DISTINCT job_id AS id FROM ${jobBlocker} WHERE sequence_id = ANY ($1::${idType}[])`,
    params: [arrayLiteral(sequenceIds)],
  });
  const rows = await database.query(ctx, {
    name: "lock_dependants",
    sql: dependantsSql,
    params: [arrayLiteral(sequenceIds)],
  });
  return rows.map((row) => ({
    job: toLockedJob(row),
    blockerIds: textList(row["blocker_ids"]),
  }));
};

const isFreed = "j.status = 'blocked' AND j.open_blockers <= done.count";

// Its place in line is behind all that could run before it.
const unblockSql = ({ job, idType }: Tables): string => `
UPDATE ${job} AS j SET
  open_blockers = greatest(0, j.open_blockers - done.count),
  status = CASE WHEN ${isFreed} THEN 'pending' ELSE j.status END,
  ready = CASE WHEN ${isFreed} THEN j.scheduled_at <= $3::bigint ELSE j.ready END,
  due_at = CASE WHEN ${isFreed} THEN greatest(j.scheduled_at, $3::bigint) ELSE j.due_at END,
  scheduled_at = CASE WHEN ${isFreed} THEN greatest(j.scheduled_at, $3::bigint) ELSE j.scheduled_at END
FROM unnest($1::${idType}[], $2::int[]) AS done (id, count) WHERE j.id = done.id`;

/** The sequences have completed: those that waited for them have so many blockers less. */
const unblockDependants = async (
  database: Database,
  { ctx, now }: TimedTransaction,
  sequenceIds: readonly string[],
): Promise<Map<string, JobReference[]>> => {
  const dependants = await lockDependants(database, ctx, sequenceIds);
  const unblocked = new Map<string, JobReference[]>();
  if (dependants.length === 0) return unblocked;
  await database.query(ctx, {
    name: "unblock",
    sql: unblockSql,
    params: [
      arrayLiteral(dependants.map(({ job }) => job.id)),
      arrayLiteral(dependants.map(({ blockerIds }) => blockerIds.length)),
      now,
    ],
  });
  for (const { job, blockerIds } of dependants) {
    if (job.status !== "blocked" || job.openBlockers > blockerIds.length) continue;
    const lastId = sequenceIds.findLast((id) => blockerIds.includes(id))!;
    unblocked.set(lastId, [...(unblocked.get(lastId) ?? []), referenceTo(job)]);
  }
  return unblocked;
};

const failSql = ({ job, idType }: Tables): string => `
UPDATE ${job} AS j SET
  status = 'failed',
  ready = false,
  finished_at = $3::bigint,
  failure_reason = 'blocker_failed',
  failed_blocker_id = cause.sequence_id,
  last_error = cause.error,
  key_open = CASE WHEN j.key_open THEN false ELSE j.key_open END
FROM unnest($1::${idType}[], $2::${idType}[], $4::text[]) AS cause (id, sequence_id, error) WHERE j.id = cause.id`;

/** A job that fails for the sake of a blocker. */
interface BlockerFailure {
  readonly job: LockedJob;
  /** The current job of the sequence that it waited for, as it is now. */
  readonly blocker: LockedJob;
}

export const failByBlocker = async (
  database: Database,
  transaction: TimedTransaction,
  failures: readonly BlockerFailure[],
): Promise<void> => {
  await database.query(transaction.ctx, {
    name: "fail_by_blocker",
    sql: failSql,
    params: [
      arrayLiteral(failures.map(({ job }) => job.id)),
      arrayLiteral(failures.map(({ blocker }) => blocker.sequenceId)),
      transaction.now,
      arrayLiteral(failures.map(({ blocker }) => blockerErrorText(blocker))),
    ],
  });
  await closeKeys(
    database,
    transaction,
    failures.map(({ job }) => job),
  );
};

/**
 * The sequences have failed: so do the jobs that waited for them and for no better, and so on through theirs. The jobs
 * are given with the errors they now have.
 */
export const failDependants = async (
  database: Database,
  transaction: TimedTransaction,
  failed: readonly LockedJob[],
): Promise<Map<string, JobReference[]>> => {
  const cascaded = new Map<string, JobReference[]>();
  // Which of the failures given stands at the beginning.
  const causes = new Map(
    failed.filter(({ watched }) => watched).map(({ sequenceId }) => [sequenceId, sequenceId]),
  );
  const blockers = new Map(failed.map((job) => [job.sequenceId, job]));
  let sequenceIds = [...causes.keys()];
  while (sequenceIds.length > 0) {
    const level = sequenceIds;
    const dependants = await lockDependants(database, transaction.ctx, level);
    const failures = dependants
      .filter(({ job }) => job.status === "blocked" && job.onBlockerFailure === "fail")
      .map(({ job, blockerIds }) => ({
        job,
        blocker: blockers.get(level.find((id) => blockerIds.includes(id))!)!,
      }));
    sequenceIds = [];
    if (failures.length === 0) break;
    await failByBlocker(database, transaction, failures);
    for (const { job, blocker } of failures) {
      const cause = causes.get(blocker.sequenceId)!;
      cascaded.set(cause, [...(cascaded.get(cause) ?? []), referenceTo(job)]);
      if (!job.watched || causes.has(job.sequenceId)) continue;
      causes.set(job.sequenceId, cause);
      blockers.set(job.sequenceId, { ...job, lastError: blockerErrorText(blocker) });
      sequenceIds.push(job.sequenceId);
    }
  }
  return cascaded;
};

/** The key of a sequence is on its first job; that is another row when the sequence has gone further. */
export const setKeysOpen = async (
  { query, tables }: Database,
  { ctx }: TimedTransaction,
  jobs: readonly LockedJob[],
  open: boolean,
): Promise<void> => {
  const sequenceIds = jobs
    .filter(({ watched, sequenceIndex }) => watched && sequenceIndex > 0)
    .map(({ sequenceId }) => sequenceId);
  if (sequenceIds.length === 0) return;
  await query(ctx, {
    name: "set_keys_open",
    sql: () => `UPDATE ${tables.job} SET key_open = $2::boolean
      WHERE id = ANY ($1::${tables.idType}[]) AND deduplication_key IS NOT NULL`,
    params: [arrayLiteral(sequenceIds), open],
  });
};

const closeKeys = (
  database: Database,
  transaction: TimedTransaction,
  jobs: readonly LockedJob[],
): Promise<void> => setKeysOpen(database, transaction, jobs, false);

/** Passes on what the ends of these jobs' sequences mean; by sequence id. Failed ones come with the errors they now have. */
export const spreadEnds = async (
  database: Database,
  transaction: TimedTransaction,
  { completed, failed }: { readonly completed: readonly LockedJob[]; readonly failed: readonly LockedJob[] },
): Promise<Map<string, Ends>> => {
  await closeKeys(database, transaction, [...completed, ...failed]);
  const watchedIds = completed.filter(({ watched }) => watched).map(({ sequenceId }) => sequenceId);
  const unblocked = await unblockDependants(database, transaction, watchedIds);
  const cascaded = await failDependants(database, transaction, failed);
  return new Map(
    [...completed, ...failed].map(({ sequenceId }) => [
      sequenceId,
      { unblocked: unblocked.get(sequenceId) ?? [], cascaded: cascaded.get(sequenceId) ?? [] },
    ]),
  );
};
