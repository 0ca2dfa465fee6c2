import { findCycle as walkToCycle, runAsync, type WaitingSequence } from "leasehold/adapter";
import { arrayLiteral } from "./sql/array-literal.ts";
import { text } from "./sql/row-values.ts";
import type { Context, Database } from "./database.ts";
import type { LockedJob } from "./lock-jobs.ts";

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

/** The way from one of the blockers to the job's own sequence, if one of them waits for it. */
export const findCycle = (
  database: Database,
  ctx: Context,
  { sequenceId, endConcernsOthers }: LockedJob,
  blockerIds: readonly string[],
): Promise<string[] | undefined> =>
  runAsync(
    walkToCycle(sequenceId, blockerIds, (sequenceIds) =>
      // Nobody waits for a job that concerns nobody else: no query for the sequence of a new job.
      endConcernsOthers ? findWaiting(database, ctx, sequenceIds) : [],
    ),
  );
