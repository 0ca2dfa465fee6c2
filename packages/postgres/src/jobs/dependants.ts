import {
  type BlockerFailure,
  failDependants as walkFailure,
  findCycle as walkToCycle,
  type JobReference,
  referenceTo,
  runAsync,
  type WaitingSequence,
} from "leasehold/adapter";
import type { Context, Database } from "../database/database.ts";
import { arrayLiteral, text, textList } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { insertDeltas } from "../limits/deltas.ts";
import { assertSeesAll, lockedColumns, type LockedJob, toLockedJob } from "../rows/locks.ts";
import { setDeduplicationLive } from "./deduplication.ts";

/** The sequences whose current job is blocked by one of these. */
const findWaiting = async (
  { query, tables }: Database,
  ctx: Context,
  sequenceIds: readonly string[],
): Promise<WaitingSequence[]> => {
  const rows = await query(ctx, {
    name: "find_waiting",
    sql: () => `SELECT j.sequence_id, b.sequence_id AS waits_for FROM ${tables.jobBlocker} AS b
      JOIN ${tables.job} AS j ON j.id = b.job_id
      WHERE b.sequence_id = ANY ($1::${tables.idType}[]) AND j.status = 'blocked'
      ORDER BY j.created_at, j.position`,
    params: [arrayLiteral(sequenceIds)],
  });
  return rows.map((row) => ({
    sequenceId: text(row["sequence_id"]),
    waitsFor: text(row["waits_for"]),
  }));
};

/** The path from one of the blockers to the sequence of the job, if one of them waits for it. */
export const findCycle = (
  database: Database,
  ctx: Context,
  { sequenceId, hasDependants }: LockedJob,
  blockerIds: readonly string[],
): Promise<string[] | undefined> =>
  runAsync(
    walkToCycle(sequenceId, blockerIds, (sequenceIds) =>
      // A sequence without dependants, such as that of a new job, is in no cycle: no query.
      hasDependants ? findWaiting(database, ctx, sequenceIds) : [],
    ),
  );

// The end of a sequence changes the jobs that wait for it, in the same transaction and with these jobs locked: of two blockers
// that finish at the same time, the later one reads what the earlier one has written.

export interface TimedTransaction {
  readonly ctx: Context;
  readonly now: number;
}

/** The jobs that the end of one sequence has changed. */
export interface Consequences {
  readonly unblocked: readonly JobReference[];
  readonly cascaded: readonly JobReference[];
}

interface Dependant {
  readonly job: LockedJob;
  /** Its blockers among the given sequences; a sequence that is its blocker twice is listed twice. */
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

/**
 * Locks the jobs that have one of the sequences as blocker. The transaction must have locked the current jobs of these
 * sequences.
 */
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
  return rows.map((row) => ({ job: toLockedJob(row), blockerIds: textList(row["blocker_ids"]) }));
};

const isFreed = "j.status = 'blocked' AND j.open_blockers <= done.count";

// A job is due when it is freed, at the earliest, so that it does not overtake jobs that could run before.
const unblockSql = ({ job, idType }: Tables): string => `
UPDATE ${job} AS j SET
  open_blockers = greatest(0, j.open_blockers - done.count),
  status = CASE WHEN ${isFreed} THEN 'pending' ELSE j.status END,
  ready = CASE WHEN ${isFreed} THEN j.scheduled_at <= $3::bigint ELSE j.ready END,
  due_at = CASE WHEN ${isFreed} THEN greatest(j.scheduled_at, $3::bigint) ELSE j.due_at END,
  scheduled_at = CASE WHEN ${isFreed} THEN greatest(j.scheduled_at, $3::bigint) ELSE j.scheduled_at END
FROM unnest($1::${idType}[], $2::int[]) AS done (id, count) WHERE j.id = done.id`;

/** Subtracts completed sequences from the open blockers of the jobs that wait for them. */
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
  const freed = dependants.filter(
    ({ job, blockerIds }) => job.status === "blocked" && job.openBlockers <= blockerIds.length,
  );
  await insertDeltas(database, ctx, freed);
  for (const { job, blockerIds } of freed) {
    const lastId = sequenceIds.findLast((id) => blockerIds.includes(id));
    if (lastId !== undefined) unblocked.set(lastId, [...(unblocked.get(lastId) ?? []), referenceTo(job)]);
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
  fingerprint = NULL,
  deduplication_open = CASE WHEN j.deduplication_open THEN false ELSE j.deduplication_open END
FROM unnest($1::${idType}[], $2::${idType}[], $4::text[]) AS cause (id, sequence_id, error) WHERE j.id = cause.id`;

export const failByBlocker = async (
  database: Database,
  transaction: TimedTransaction,
  failures: readonly BlockerFailure<LockedJob>[],
): Promise<void> => {
  await database.query(transaction.ctx, {
    name: "fail_by_blocker",
    sql: failSql,
    params: [
      arrayLiteral(failures.map(({ job }) => job.id)),
      arrayLiteral(failures.map(({ blockerSequenceId }) => blockerSequenceId)),
      transaction.now,
      arrayLiteral(failures.map(({ error }) => error)),
    ],
  });
  const jobs = failures.map(({ job }) => job);
  await setDeduplicationLive(database, transaction.ctx, jobs, false);
};

const idsWithDependants = (jobs: readonly LockedJob[]): string[] =>
  jobs.filter(({ hasDependants }) => hasDependants).map(({ sequenceId }) => sequenceId);

/**
 * Fails the dependants of failed sequences, and returns them by the sequence at the root of the failure. The jobs are given with
 * their new errors.
 */
export const failDependants = (
  database: Database,
  transaction: TimedTransaction,
  failed: readonly LockedJob[],
): Promise<Map<string, JobReference[]>> =>
  runAsync(
    walkFailure<LockedJob>(
      {
        dependants: async (level) => {
          const dependants = await lockDependants(database, transaction.ctx, idsWithDependants(level));
          return dependants.flatMap(({ job, blockerIds }) =>
            blockerIds.map((blockerId) => ({ job, blockerId })),
          );
        },
        fail: (failures) => failByBlocker(database, transaction, failures),
      },
      failed,
    ),
  );

/**
 * Unblocks or fails the dependants of ended sequences, and returns them by sequence id. Failed jobs are given with their new
 * errors.
 */
export const settleDependants = async (
  database: Database,
  transaction: TimedTransaction,
  { completed, failed }: { readonly completed: readonly LockedJob[]; readonly failed: readonly LockedJob[] },
): Promise<Map<string, Consequences>> => {
  const ended = [...completed, ...failed];
  await setDeduplicationLive(database, transaction.ctx, ended, false);
  const unblocked = await unblockDependants(database, transaction, idsWithDependants(completed));
  const cascaded = await failDependants(database, transaction, failed);
  return new Map(
    ended.map(({ sequenceId }) => [
      sequenceId,
      { unblocked: unblocked.get(sequenceId) ?? [], cascaded: cascaded.get(sequenceId) ?? [] },
    ]),
  );
};
