import type { Context, Database } from "../database/database.ts";
import { defineRows } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { LockedJob } from "../rows/locks.ts";

// Who changes a job never writes the line of its group, or a counter: others would have to wait until the transaction ends.
// A note says what happened, in the same transaction. The next claim of the queue reads the notes, and deletes them.
//
// A note is needed when a job that is counted is no longer running, and when a job with a group gets in line. The line may
// look open and be closed by a claim a moment later, so the note is never left out. In ordered groups others wait for a job,
// so a note says also that it has left.
//
// A note says how many jobs got in line (`arrived`), or null if that is not certain: a claim then looks. With that a line knows
// how many jobs it has at most, and hardly ever has to be looked into.

export const deltaColumns = "queue, home, line, group_key, ordered, arrived, freed, type_freed, queue_freed";

/** How many slots have come free, by where they were counted. */
export const freedCountsSql: string = ["1", "2", "4"]
  .map((slot) => `count(*) FILTER (WHERE slots & ${slot} <> 0)`)
  .join(", ");

/**
 * The notes about jobs that have moved: of a table with queue, home, lane, group_key, ordered, and slots as they were before.
 */
export const notesOfSql = (moved: string): string => `
  SELECT queue, coalesce(home, lane), lane, group_key, bool_or(ordered IS NOT NULL), NULL::int, ${freedCountsSql}
  FROM ${moved} AS moved WHERE home IS NOT NULL OR slots IS NOT NULL GROUP BY queue, home, lane, group_key`;

/** What a note says about one job, beside where it is. */
export interface Note {
  readonly job: LockedJob;
  /** The group goes on only when somebody has seen to the failure of this job. */
  readonly stops?: boolean;
  /** Somebody has. */
  readonly resumes?: boolean;
}

const noteRows = defineRows<Note>((idType) => [
  { name: "queue", type: "text", required: true, read: ({ job }) => job.queue },
  { name: "home", type: "bigint", required: true, read: ({ job }) => job.flow.home ?? job.flow.lane },
  { name: "line", type: "bigint", required: true, read: ({ job }) => job.flow.lane },
  { name: "group_key", type: "text", read: ({ job }) => job.group },
  { name: "ordered", type: "boolean", read: ({ job }) => job.ordered !== null || null },
  { name: "slots", type: "int", read: ({ job }) => job.flow.slots },
  { name: "stopped_by", type: idType, read: ({ job, stops }) => (stops === true ? job.id : null) },
  { name: "resumed_by", type: idType, read: ({ job, resumes }) => (resumes === true ? job.id : null) },
]);

const leaveSql = ({ lineNote, idType }: Tables, single: boolean): string => `
INSERT INTO ${lineNote} (${deltaColumns}, stopped_by, resumed_by)
SELECT queue, home, line, group_key, coalesce(bool_or(ordered), false), NULL, ${freedCountsSql}, stopped_by, resumed_by
FROM ${noteRows(idType).source("n", 1, single)} GROUP BY queue, home, line, group_key, stopped_by, resumed_by`;

/** Leaves notes about jobs that have moved, given as they were when they were locked. */
export const insertDeltas = async (
  { query, tables: { idType } }: Database,
  ctx: Context,
  notes: readonly Note[],
): Promise<void> => {
  const needed = notes.filter(({ job }) => job.group !== null || job.flow.slots !== null);
  if (needed.length === 0) return;
  const single = needed.length === 1;
  await query(ctx, {
    name: `leave_notes_${single ? "one" : "many"}`,
    sql: (tables) => leaveSql(tables, single),
    params: noteRows(idType).params(needed),
  });
};

// Which counters a running job has to be in by the rules, and is not.
const missing = `(
  CASE WHEN j.home IS NOT NULL AND (j.ordered IS NOT NULL OR CASE WHEN t.group_limits THEN t.group_concurrency
    WHEN q.group_limits THEN q.group_concurrency END IS NOT NULL) THEN 1 ELSE 0 END
  | CASE WHEN t.concurrency IS NULL THEN 0 ELSE 2 END
  | CASE WHEN q.concurrency IS NULL THEN 0 ELSE 4 END
) & ~coalesce(j.slots, 0)`;

/** A note that says that less than nothing has come free counts a job in. */
const countSql = ({ job, flowRule, lineNote }: Tables, wait: boolean): string => `
WITH uncounted AS MATERIALIZED (
  SELECT j.id, j.queue, j.home, j.lane, j.group_key, j.ordered, ${missing} AS slots FROM ${job} AS j
  LEFT JOIN ${flowRule} AS t ON t.queue = j.queue AND t.home = coalesce(j.home, j.lane)
  LEFT JOIN ${flowRule} AS q ON q.queue = j.queue AND q.home = 0
  WHERE j.status = 'running' AND j.queue = $1::text AND ${missing} <> 0
  ORDER BY j.id FOR NO KEY UPDATE OF j ${wait ? "" : "SKIP LOCKED"}
),
counted AS (
  UPDATE ${job} AS j SET slots = coalesce(j.slots, 0) | u.slots FROM uncounted AS u WHERE j.id = u.id AND j.status = 'running'
  RETURNING u.*
)
INSERT INTO ${lineNote} (${deltaColumns})
SELECT queue, coalesce(home, lane), lane, group_key, bool_or(ordered IS NOT NULL), 0,
  ${[1, 2, 4].map((slot) => `-count(*) FILTER (WHERE slots & ${slot} <> 0)`).join(", ")}
FROM counted GROUP BY queue, home, lane, group_key`;

/** Counts running jobs against limits that were not there when they were claimed. Without waiting, locked jobs are skipped. */
export const countRunningJobs = async (
  { query, tables }: Database,
  ctx: Context | undefined,
  queue: string,
  wait = true,
): Promise<void> => {
  await query(ctx, { sql: countSql(tables, wait), params: [queue] });
};
