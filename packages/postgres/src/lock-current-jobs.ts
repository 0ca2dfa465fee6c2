import { arrayLiteral } from "./sql/array-literal.ts";
import type { Context, Database } from "./database.ts";
import type { Tables } from "./tables.ts";
import { lockedColumns, type LockedJob, toLockedJob } from "./lock-jobs.ts";

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
