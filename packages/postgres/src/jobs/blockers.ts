import {
  type AddJobBlockersCall,
  BlockerCycleError,
  failureBy,
  JobNotFoundError,
  type StateJob,
  type StateSequence,
} from "leasehold/adapter";
import type { Call, CallInTransaction, Database } from "../database/database.ts";
import { arrayLiteral, clockCte, now, text } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { insertDeltas } from "../limits/deltas.ts";
import { lockCurrentJobs, lockJobs } from "../rows/locks.ts";
import { failByBlocker, failDependants, findCycle } from "./dependants.ts";
import { getJobs, getSequences } from "./reads.ts";

// `has_dependants` makes an outcome of the blocker read its dependants. An update and not only a lock: an outcome that waits for
// this row checks it again only if it has changed.
const insertBlockersSql = ({ schema, job, jobBlocker, idType }: Tables): string => `
WITH ${clockCte("$1")},
blocker AS MATERIALIZED (SELECT * FROM unnest($3::${idType}[]) WITH ORDINALITY AS t (sequence_id, blocker_index)),
inserted AS (
  INSERT INTO ${jobBlocker} (job_id, blocker_index, sequence_id)
  SELECT $2::${idType}, blocker_index - 1, sequence_id FROM blocker
),
marked AS (UPDATE ${job} SET has_dependants = true WHERE id = ANY ($4::${idType}[]) AND NOT has_dependants)
UPDATE ${job} SET
  blocker_count = $5::int,
  open_blockers = $6::int,
  status = (CASE WHEN $6::int > 0 THEN 'blocked' ELSE 'pending' END)::${schema}.job_status,
  ready = CASE WHEN $6::int > 0 THEN false ELSE scheduled_at <= ${now} END
WHERE id = $2::${idType}
RETURNING ${now} AS now`;

export const addJobBlockers = async (
  database: Database,
  call: CallInTransaction & AddJobBlockersCall,
): Promise<StateJob> => {
  const { ctx, jobId, blockerSequenceIds } = call;
  const { jobs } = await lockJobs(database, call, [jobId]);
  const job = jobs.get(jobId);
  if (job === undefined) throw new JobNotFoundError(jobId);
  if (job.status !== "blocked") throw new Error(`Job ${jobId} was not created to wait for blockers.`);

  const current = await lockCurrentJobs(database, ctx, blockerSequenceIds);
  const blockers = blockerSequenceIds.map((sequenceId) => {
    const blocker = current.get(sequenceId);
    if (blocker === undefined) throw new JobNotFoundError(sequenceId, "job sequence");
    return blocker;
  });
  const cycle = await findCycle(database, ctx, job, blockerSequenceIds);
  if (cycle !== undefined) throw new BlockerCycleError(jobId, cycle);

  const open = blockers.filter(({ status }) => status !== "completed");
  const [row] = await database.query(ctx, {
    name: "insert_blockers",
    sql: insertBlockersSql,
    params: [
      call.now ?? null,
      jobId,
      arrayLiteral(blockerSequenceIds),
      arrayLiteral(open.map(({ id }) => id)),
      blockers.length,
      open.length,
    ],
  });
  if (open.length === 0) await insertDeltas(database, ctx, [{ job }]);
  const failedBlocker = blockers.find(({ status }) => status === "failed");
  if (failedBlocker !== undefined && job.onBlockerFailure === "fail") {
    const transaction = { ctx, now: Number(row?.["now"]) };
    const failure = failureBy(job, failedBlocker);
    await failByBlocker(database, transaction, [failure]);
    await failDependants(database, transaction, [{ ...job, lastError: failure.error }]);
  }
  const [result] = await getJobs(database, { ctx, jobIds: [jobId] });
  if (result === undefined) throw new JobNotFoundError(jobId);
  return result;
};

export const getBlockers = async (
  database: Database,
  call: Call & { readonly jobIds: readonly string[] },
): Promise<StateSequence[][]> => {
  const { query, tables, isId } = database;
  const rows = await query(call.ctx, {
    name: "get_blockers",
    sql: () => `SELECT job_id, sequence_id FROM ${tables.jobBlocker} WHERE job_id = ANY ($1::${tables.idType}[])
      ORDER BY job_id, blocker_index`,
    params: [arrayLiteral(call.jobIds.filter(isId))],
  });
  const sequenceIds = rows.map((row) => text(row["sequence_id"]));
  const sequences = sequenceIds.length === 0 ? [] : await getSequences(database, { ...call, sequenceIds });
  return call.jobIds.map((jobId) =>
    rows.flatMap((row, index) => (row["job_id"] === jobId && sequences[index] ? [sequences[index]] : [])),
  );
};
