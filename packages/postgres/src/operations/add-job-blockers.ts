import {
  type AddJobBlockersCall,
  BlockerCycleError,
  failureBy,
  JobNotFoundError,
  type StateJob,
} from "leasehold/adapter";
import { arrayLiteral } from "../sql/array-literal.ts";
import { clockCte, now } from "../sql/clock.ts";
import type { CallInTransaction, Database } from "../database.ts";
import type { Tables } from "../tables.ts";
import { findCycle } from "../blocker-cycles.ts";
import { leaveNotes } from "../flow/notes.ts";
import { lockCurrentJobs } from "../lock-current-jobs.ts";
import { lockJobs } from "../lock-jobs.ts";
import { getJobs } from "./get-jobs.ts";
import { failByBlocker, failDependants } from "../dependants.ts";

// `watched` makes an outcome of the blocker look for dependants. It is an update and not only a lock: an outcome that waits
// for this row must see that it has changed.
const insertBlockersSql = ({ schema, job, jobBlocker, idType }: Tables): string => `
WITH ${clockCte("$1")},
blocker AS MATERIALIZED (SELECT * FROM unnest($3::${idType}[]) WITH ORDINALITY AS t (sequence_id, blocker_index)),
inserted AS (
  INSERT INTO ${jobBlocker} (job_id, blocker_index, sequence_id)
  SELECT $2::${idType}, blocker_index - 1, sequence_id FROM blocker
),
marked AS (UPDATE ${job} SET watched = true WHERE id = ANY ($4::${idType}[]) AND NOT watched)
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
  if (open.length === 0) await leaveNotes(database, ctx, [{ job }]);
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
