import type { JobOutcome } from "leasehold/adapter";
import type { Call, Database } from "../database/database.ts";
import { clockCte, defineRows, now, type RowsColumn, textList } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

/** What checks the lease of the job `j` under which the outcome `o` was reached. */
export const leaseCheckSql = (present: string): string =>
  // Since `status = 'running'` is the condition of the index of running jobs, the planner may start there and read all of them
  // for a few ids. It does not recognise the condition before `IS TRUE`, and goes by the ids.
  `(j.status = 'running') IS TRUE AND j.lease_token = o.token AND (j.due_at > ${present} OR o.locked)`;

/**
 * Whether the job `j` is deleted when it completes: `isDiscardable` of core. The planner could turn `NOT EXISTS` into a join with
 * all jobs that are not roots. A subquery with a limit is run for each job, by the index of trees.
 */
export const isDiscardableSql = ({
  job,
}: Tables): string => `j.id = j.root_sequence_id AND NOT j.has_dependants
  AND j.deduplication_key IS NULL AND j.blocker_count = 0 AND j.lease_version = 1 AND j.group_key IS NULL AND j.counted_in IS NULL
  AND (SELECT c.id FROM ${job} AS c WHERE c.root_sequence_id = j.id AND c.root_sequence_id <> c.id LIMIT 1) IS NULL`;

const leases = defineRows<JobOutcome>((idType): RowsColumn<JobOutcome>[] => [
  { name: "id", type: idType, read: "jobId" },
  { name: "token", type: "text", required: true, read: "leaseToken" },
  { name: "locked", type: "boolean", read: ({ locked }) => locked || null },
]);

const discardSql = (tables: Tables, single: boolean): string => `
WITH ${clockCte("$1")},
discarded AS (
  DELETE FROM ${tables.job} AS j USING ${leases(tables.idType).source("o", 3, single)}
  WHERE j.id = o.id AND ${leaseCheckSql(now)} AND ${isDiscardableSql(tables)} RETURNING j.id
)
SELECT ${now} AS now, CASE WHEN (SELECT count(*) FROM discarded) < $2::int
  THEN (SELECT coalesce(array_to_json(array_agg(id))::text, '[]') FROM discarded) END AS some`;

/**
 * Completes jobs by deleting them, in the order of the outcomes. Skips jobs that something may still refer to, and outcomes
 * whose lease is not valid.
 */
export const discardCompleted = async (
  { query, tables }: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
): Promise<{ readonly at: number; readonly applied: ReadonlySet<string> | null }> => {
  const single = outcomes.length === 1;
  const [row] = await query(call.ctx, {
    name: `discard_${single ? "one" : "many"}`,
    sql: () => discardSql(tables, single),
    params: [call.now ?? null, outcomes.length, ...leases(tables.idType).params(outcomes)],
  });
  const some = row!["some"];
  return { at: Number(row!["now"]), applied: some === null ? null : new Set(textList(some)) };
};
