import { type JobReference, type RedriveCall, type RedriveResult, referenceTo } from "leasehold/adapter";
import { arrayLiteral } from "../sql/array-literal.ts";
import { text } from "../sql/row-values.ts";
import { nowSql } from "../sql/clock.ts";
import type { Call, CallInTransaction, Context, Database } from "../database.ts";
import type { Tables } from "../tables.ts";
import { findCycle } from "../blocker-cycles.ts";
import { lockKeys, setDeduplicationLive } from "../deduplication.ts";
import { currentJobIdSql } from "../lock-current-jobs.ts";
import { type LockedJob, lockJobs } from "../lock-jobs.ts";
import { getJobs } from "./get-jobs.ts";
import { lockDependants } from "../dependants.ts";

type InTransaction = CallInTransaction & RedriveCall;
type Decision = Pick<RedriveResult, "kind" | "revived">;

const reviveSql = ({ schema, job, idType }: Tables): string => `
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
  key_open = CASE WHEN j.deduplication_key IS NOT NULL THEN true END
FROM (
  SELECT now, greatest(now, $3::bigint, now + $4::bigint) AS earliest FROM (SELECT ${nowSql("$1")} AS now) AS present
) AS clock WHERE j.id = ANY ($2::${idType}[])`;

const revive = async (database: Database, call: InTransaction, jobs: readonly LockedJob[]): Promise<void> => {
  if (jobs.length === 0) return;
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
};

const exists = async (database: Database, ctx: Context, sql: string, jobId: string): Promise<boolean> => {
  const rows = await database.query(ctx, { sql: `SELECT 1 AS found WHERE EXISTS (${sql})`, params: [jobId] });
  return rows.length > 0;
};

const hasFailedBlocker = async (database: Database, ctx: Context, job: LockedJob): Promise<boolean> => {
  if (job.blockerCount === 0) return false;
  const { tables } = database;
  const sql = `SELECT FROM ${tables.jobBlocker} AS b JOIN ${tables.job} AS j
    ON j.id = ${currentJobIdSql(tables, "b.sequence_id")} WHERE b.job_id = $1 AND j.status = 'failed'`;
  return exists(database, ctx, sql, job.id);
};

/** Whether another unfinished sequence has the key of the job's own. Waits for transactions that are starting one. */
const hasLiveDuplicate = async (database: Database, ctx: Context, job: LockedJob): Promise<boolean> => {
  if (!job.endConcernsOthers) return false;
  const [first] = await getJobs(database, { ctx, jobIds: [job.sequenceId] });
  if (first === undefined || first.deduplicationKey === null) return false;
  const { sequenceTypeName, deduplicationKey } = first;
  await lockKeys(database, ctx, [{ sequenceTypeName, deduplicationKey }]);
  const { job: table } = database.tables;
  const sql = `SELECT FROM ${table} AS first JOIN ${table} AS other
    ON other.sequence_type_name = first.sequence_type_name AND other.deduplication_key = first.deduplication_key
    WHERE first.id = $1 AND other.key_open AND other.id <> first.id`;
  return exists(database, ctx, sql, first.id);
};

/** A sequence that the job waits for may wait for the job's own sequence by now. */
const wouldWaitForItself = async (database: Database, ctx: Context, job: LockedJob): Promise<boolean> => {
  if (job.openBlockers === 0) return false;
  const rows = await database.query(ctx, {
    sql: `SELECT sequence_id FROM ${database.tables.jobBlocker} WHERE job_id = $1`,
    params: [job.id],
  });
  const blockerIds = rows.map((row) => text(row["sequence_id"]));
  return (await findCycle(database, ctx, job, blockerIds)) !== undefined;
};

/** The sequence is alive again, so the jobs that failed only because of it are revived too, and so on through theirs. */
const reviveDependants = async (
  database: Database,
  call: InTransaction,
  sequenceId: string,
): Promise<JobReference[]> => {
  const references: JobReference[] = [];
  const sequenceIds = [sequenceId];
  for (const revivedId of sequenceIds) {
    for (const { job } of await lockDependants(database, call.ctx, [revivedId])) {
      if (job.failureReason !== "blocker_failed") continue;
      if (await hasFailedBlocker(database, call.ctx, job)) continue;
      if (await hasLiveDuplicate(database, call.ctx, job)) continue;
      if (await wouldWaitForItself(database, call.ctx, job)) continue;
      await revive(database, call, [job]);
      references.push(referenceTo(job));
      sequenceIds.push(job.sequenceId);
    }
  }
  return references;
};

/** Undefined while a blocker is still failed: another job of the call may yet revive it. */
const redrive = async (
  database: Database,
  call: InTransaction,
  jobId: string,
): Promise<Decision | undefined> => {
  const { ctx } = call;
  const job = (await lockJobs(database, call, [jobId])).jobs.get(jobId);
  // Another job of this call has revived it already.
  if (job === undefined || job.status !== "failed") return { kind: "redriven", revived: [] };
  // A job that waits whatever happens to its blockers can wait again.
  if (job.onBlockerFailure === "fail" && (await hasFailedBlocker(database, ctx, job))) return undefined;
  if (await hasLiveDuplicate(database, ctx, job)) return { kind: "duplicate_live", revived: [] };
  if (await wouldWaitForItself(database, ctx, job)) return { kind: "blocker_cycle", revived: [] };
  await revive(database, call, [job]);
  return { kind: "redriven", revived: await reviveDependants(database, call, job.sequenceId) };
};

/** Neither waits for others nor is waited for. */
const isPlain = ({ endConcernsOthers, blockerCount }: LockedJob): boolean =>
  !endConcernsOthers && blockerCount === 0;

export const redriveJobs = (database: Database, call: Call & RedriveCall): Promise<RedriveResult[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const inTransaction = { ...call, ctx };
    const { jobs } = await lockJobs(database, inTransaction, call.jobIds);
    const decided = new Map<string, Decision>();
    for (const jobId of call.jobIds) {
      const status = jobs.get(jobId)?.status;
      if (status === undefined) decided.set(jobId, { kind: "not_found", revived: [] });
      else if (status !== "failed") decided.set(jobId, { kind: "not_failed", revived: [] });
    }
    const failed = [...jobs.values()].filter(({ status }) => status === "failed");
    await revive(database, inTransaction, failed.filter(isPlain));
    for (const { id } of failed.filter(isPlain)) decided.set(id, { kind: "redriven", revived: [] });

    // In rounds, so that a job that is named together with its blocker is revived whichever of the two comes first.
    let undecided = failed.filter((job) => !isPlain(job)).map(({ id }) => id);
    for (let before = -1; before !== undecided.length;) {
      before = undecided.length;
      const left: string[] = [];
      for (const jobId of undecided) {
        const decision = await redrive(database, inTransaction, jobId);
        if (decision === undefined) left.push(jobId);
        else decided.set(jobId, decision);
      }
      undecided = left;
    }
    const after = await getJobs(database, { ...call, ctx });
    return call.jobIds.map((jobId, index) => ({
      jobId,
      ...(decided.get(jobId) ?? { kind: "blocker_failed", revived: [] }),
      job: after[index] ?? null,
    }));
  });
