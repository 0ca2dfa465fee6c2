import type { Context, Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { defineRows, isNull, numberOrNull, text, textOrNull } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { LockedJob } from "../rows/locks.ts";

// A transaction that changes a job does not update its group or a counter: it would hold that row lock until it commits. It
// inserts a delta; the next claim of the queue applies the deltas and deletes them.
//
// A delta is needed when a counted job is no longer running, and when a job with a group becomes ready. It is needed even if
// the group looks claimable: a claim may close the group before this transaction commits. Jobs of an ordered group wait for
// one another, so a job that leaves such a group inserts a delta as well.
//
// `arrived` is the number of jobs that became ready, or null if it is unknown; then the claim reads the index. With it a claim
// computes an upper bound of the waiting jobs of a group, and rarely has to read the index.

export const deltaColumns =
  "queue, queue_type, claim_key, group_key, ordered, arrived, group_freed, type_freed, queue_freed";

/** How many jobs left the counters of groups, types and queues: one column for each bit of `counted_in`. */
export const freedCountsSql: string = ["1", "2", "4"]
  .map((bit) => `count(*) FILTER (WHERE counted_in & ${bit} <> 0)`)
  .join(", ");

/**
 * Deltas of jobs that may have become ready, from a table with queue, queue_type, claim_key, group_key, ordered, and
 * counted_in as it was before.
 */
export const deltasOfSql = (moved: string): string => `
  SELECT queue, coalesce(queue_type, claim_key), claim_key, group_key, bool_or(ordered IS NOT NULL), NULL::int, ${freedCountsSql}
  FROM ${moved} AS moved WHERE queue_type IS NOT NULL OR counted_in IS NOT NULL GROUP BY queue, queue_type, claim_key, group_key`;

/** A change of one job. */
export interface Delta {
  readonly job: LockedJob;
  /** The failure of this job stops its group until the job is redriven or deleted, or the group is resumed. */
  readonly stops?: boolean;
  /** The job is redriven or deleted: the group continues if this job had stopped it. */
  readonly resumes?: boolean;
}

const deltaRows = defineRows<Delta>((idType) => [
  { name: "queue", type: "text", required: true, read: ({ job }) => job.queue },
  {
    name: "queue_type",
    type: "bigint",
    required: true,
    read: ({ job }) => job.limitState.queueType ?? job.limitState.claimKey,
  },
  { name: "claim_key", type: "bigint", required: true, read: ({ job }) => job.limitState.claimKey },
  { name: "group_key", type: "text", read: ({ job }) => job.group },
  { name: "ordered", type: "boolean", read: ({ job }) => job.ordered !== null || null },
  { name: "counted_in", type: "int", read: ({ job }) => job.limitState.countedIn },
  { name: "stopped_by", type: idType, read: ({ job, stops }) => (stops === true ? job.id : null) },
  { name: "resumed_by", type: idType, read: ({ job, resumes }) => (resumes === true ? job.id : null) },
]);

const insertSql = ({ limitDelta, idType }: Tables, single: boolean): string => `
INSERT INTO ${limitDelta} (${deltaColumns}, stopped_by, resumed_by)
SELECT queue, queue_type, claim_key, group_key, coalesce(bool_or(ordered), false), NULL, ${freedCountsSql}, stopped_by, resumed_by
FROM ${deltaRows(idType).source("d", 1, single)} GROUP BY queue, queue_type, claim_key, group_key, stopped_by, resumed_by`;

/** Inserts the deltas of jobs, given as they were when they were locked. */
export const insertDeltas = async (
  { query, tables: { idType } }: Database,
  ctx: Context,
  deltas: readonly Delta[],
): Promise<void> => {
  const needed = deltas.filter(({ job }) => job.group !== null || job.limitState.countedIn !== null);
  if (needed.length === 0) return;
  const single = needed.length === 1;
  await query(ctx, {
    name: `insert_deltas_${single ? "one" : "many"}`,
    sql: (tables) => insertSql(tables, single),
    params: deltaRows(idType).params(needed),
  });
};

/** What holds up a group as a whole: the job whose failure stopped it, and the end of its pause. */
export interface GroupHold {
  readonly stoppedBy: string | null;
  readonly pausedUntil: number | null;
}

/** The hold of a group after deltas that are not applied yet, in their order. */
export const holdAfter = (group: SqlRow, deltas: readonly SqlRow[]): GroupHold => {
  let stoppedBy = textOrNull(group["stopped_by"]);
  let pausedUntil = numberOrNull(group["paused_until"]);
  for (const delta of deltas) {
    if (!isNull(delta["paused_until"])) pausedUntil = Number(delta["paused_until"]);
    else if (!isNull(delta["stopped_by"])) stoppedBy = text(delta["stopped_by"]);
    else if (text(delta["resumed_by"]) === stoppedBy) stoppedBy = null;
  }
  return { stoppedBy, pausedUntil };
};
