import { arrayLiteral } from "./sql/array-literal.ts";
import { text } from "./sql/row-values.ts";
import type { Context, Database } from "./database.ts";
import type { LockedJob } from "./lock-jobs.ts";

interface Waiting {
  readonly sequenceId: string;
  readonly waitsFor: string;
}

/** The sequences whose current job is blocked by one of these. */
const findWaiting = async (
  { query, tables }: Database,
  ctx: Context,
  sequenceIds: readonly string[],
): Promise<Waiting[]> => {
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

/**
 * Finds out whether one of the blockers waits for the job's own sequence, directly or through others, and returns the way
 * there. It walks from the job to those who wait for it, because mostly nobody does: the job is new.
 */
export const findCycle = async (
  database: Database,
  ctx: Context,
  job: LockedJob,
  blockerIds: readonly string[],
): Promise<string[] | undefined> => {
  const blockers = new Set(blockerIds);
  const waitsFor = new Map<string, string | null>([[job.sequenceId, null]]);
  const wayFrom = (sequenceId: string): string[] => {
    const path: string[] = [];
    for (let step: string | null = sequenceId; step !== null; step = waitsFor.get(step) ?? null)
      path.push(step);
    return path;
  };
  if (blockers.has(job.sequenceId)) return wayFrom(job.sequenceId);
  let level = job.endConcernsOthers ? [job.sequenceId] : [];
  while (level.length > 0) {
    const found: string[] = [];
    for (const waiting of await findWaiting(database, ctx, level)) {
      if (waitsFor.has(waiting.sequenceId)) continue;
      waitsFor.set(waiting.sequenceId, waiting.waitsFor);
      if (blockers.has(waiting.sequenceId)) return wayFrom(waiting.sequenceId);
      found.push(waiting.sequenceId);
    }
    level = found;
  }
  return undefined;
};
