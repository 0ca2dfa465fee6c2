import { type RedriveCall, redriveJobs as redrive, type RedriveResult, runAsync } from "leasehold/adapter";
import type { Call, CallInTransaction, Context, Database } from "../database/database.ts";
import { arrayLiteral, nowSql, text } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { insertDeltas } from "../limits/deltas.ts";
import { currentJobIdSql, type LockedJob, lockJobs } from "../rows/locks.ts";
import { lockKeys, setDeduplicationLive } from "./deduplication.ts";
import { findCycle, lockDependants } from "./dependants.ts";
import { getJobs } from "./reads.ts";

type InTransaction = CallInTransaction & RedriveCall;

const reviveSql = (tables: Tables): string => {
  const { schema, job, idType } = tables;
  return `
UPDATE ${job} AS j SET
  status = (CASE WHEN j.open_blockers > 0 THEN 'blocked' ELSE 'pending' END)::${schema}.job_status,
  ready = j.open_blockers = 0 AND greatest(j.scheduled_at, clock.earliest) <= clock.now,
  due_at = greatest(j.scheduled_at, clock.earliest),
  scheduled_at = greatest(j.scheduled_at, clock.earliest),
  attempt = 0,
  expired_leases = 0,
  finished_at = 0,
  failure_reason = NULL,
  failed_blocker_id = NULL,
  fingerprint = NULL,
  deduplication_open = CASE WHEN j.deduplication_key IS NOT NULL THEN true END
FROM (
  SELECT now, greatest(now, $3::bigint, now + $4::bigint) AS earliest FROM (SELECT ${nowSql("$1")} AS now) AS present
) AS clock WHERE j.id = ANY ($2::${idType}[])`;
};

const revive = async (database: Database, call: InTransaction, jobs: readonly LockedJob[]): Promise<void> => {
  const { schedule } = call;
  await database.query(call.ctx, {
    name: "revive",
    sql: reviveSql,
    params: [
      call.now ?? null,
      arrayLiteral(jobs.map(({ id }) => id)),
      schedule !== undefined && "at" in schedule ? schedule.at : null,
      schedule !== undefined && "afterMs" in schedule ? schedule.afterMs : null,
    ],
  });
  await setDeduplicationLive(database, call.ctx, jobs, true);
  await insertDeltas(
    database,
    call.ctx,
    jobs.map((job) => ({ job, resumes: job.ordered === "stop" })),
  );
};

const exists = async (database: Database, ctx: Context, sql: string, jobId: string): Promise<boolean> => {
  const rows = await database.query(ctx, { sql: `SELECT 1 AS found WHERE EXISTS (${sql})`, params: [jobId] });
  return rows.length > 0;
};

const hasFailedBlocker = async (database: Database, ctx: Context, job: LockedJob): Promise<boolean> => {
  const { tables } = database;
  const sql = `SELECT FROM ${tables.jobBlocker} AS b JOIN ${tables.job} AS j
    ON j.id = ${currentJobIdSql(tables, "b.sequence_id")} WHERE b.job_id = $1 AND j.status = 'failed'`;
  return exists(database, ctx, sql, job.id);
};

/** Whether another unfinished sequence has the same key. Waits for transactions that are starting one. */
const hasLiveDuplicate = async (database: Database, ctx: Context, job: LockedJob): Promise<boolean> => {
  if (!job.hasDependants) return false;
  const [first] = await getJobs(database, { ctx, jobIds: [job.sequenceId] });
  if (first === undefined || first.deduplicationKey === null) return false;
  const { sequenceTypeName, deduplicationKey } = first;
  await lockKeys(database, ctx, [{ sequenceTypeName, deduplicationKey }]);
  const { job: table } = database.tables;
  const sql = `SELECT FROM ${table} AS first JOIN ${table} AS other
    ON other.sequence_type_name = first.sequence_type_name AND other.deduplication_key = first.deduplication_key
    WHERE first.id = $1 AND other.deduplication_open AND other.id <> first.id`;
  return exists(database, ctx, sql, first.id);
};

/** Whether a blocker of the job waits for the sequence of the job by now. */
const wouldWaitForItself = async (database: Database, ctx: Context, job: LockedJob): Promise<boolean> => {
  const rows = await database.query(ctx, {
    sql: `SELECT sequence_id FROM ${database.tables.jobBlocker} WHERE job_id = $1`,
    params: [job.id],
  });
  const blockerIds = rows.map((row) => text(row["sequence_id"]));
  return (await findCycle(database, ctx, job, blockerIds)) !== undefined;
};

/** Has neither blockers nor dependants. */
const isAlone = ({ hasDependants, blockerCount }: LockedJob): boolean => !hasDependants && blockerCount === 0;

export const redriveJobs = (database: Database, call: Call & RedriveCall): Promise<RedriveResult[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const inTransaction = { ...call, ctx };
    const walk = redrive<LockedJob>(
      {
        find: async (jobIds) => (await lockJobs(database, inTransaction, jobIds)).jobs,
        isAlone,
        hasFailedBlocker: (job) => hasFailedBlocker(database, ctx, job),
        hasLiveDuplicate: (job) => hasLiveDuplicate(database, ctx, job),
        waitsForItself: (job) => wouldWaitForItself(database, ctx, job),
        dependants: async (sequenceId) =>
          (await lockDependants(database, ctx, [sequenceId])).map(({ job }) => job),
        revive: (jobs) => revive(database, inTransaction, jobs),
      },
      call.jobIds,
    );
    const decisions = await runAsync(walk);
    const after = await getJobs(database, { ...call, ctx });
    return call.jobIds.map((jobId, index) => ({
      jobId,
      ...decisions.get(jobId)!,
      job: after[index] ?? null,
    }));
  });
