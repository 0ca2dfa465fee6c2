import type { StateJob } from "leasehold/adapter";
import type { Database } from "./database.ts";
import type { TimedTransaction } from "./dependants.ts";
import { noteColumns, notesOfSql } from "./flow/notes.ts";
import { defineRows, type RowsColumn } from "./sql/rows-parameter.ts";
import type { Tables } from "./tables.ts";

interface ChangedJob extends StateJob {
  /** Waiting counts for jobs of its type. */
  readonly isAged: boolean;
}

const changedColumns = (idType: string): RowsColumn<ChangedJob>[] => [
  { name: "id", type: idType, read: ({ id }) => id },
  { name: "input", type: "text", read: ({ input }) => input },
  { name: "replaced_by", type: idType, read: ({ replacedBy }) => replacedBy },
  { name: "trace_context", type: "text", read: ({ traceContext }) => traceContext },
  { name: "priority", type: "int", read: ({ priority }) => priority },
  { name: "max_attempts", type: "int", read: ({ maxAttempts }) => maxAttempts },
  // Null where it was asked for, as everywhere.
  {
    name: "max_attempts_given",
    type: "boolean",
    read: ({ maxAttemptsGiven }) => (maxAttemptsGiven ? null : false),
  },
  { name: "timeout_ms", type: "bigint", read: ({ timeoutMs }) => timeoutMs },
  { name: "lease_ms", type: "bigint", read: ({ leaseMs }) => leaseMs },
  { name: "expire_after_ms", type: "bigint", read: ({ expireAfterMs }) => expireAfterMs },
  { name: "scheduled_at", type: "bigint", read: ({ scheduledAt }) => scheduledAt },
  { name: "attempt", type: "int", read: ({ attempt }) => attempt },
  { name: "expired_leases", type: "int", read: ({ expiredLeases }) => expiredLeases },
  { name: "progress", type: "text", read: ({ progress }) => progress },
];

const plainRows = defineRows<ChangedJob>(changedColumns);
// For jobs with a group, or of types for which waiting counts.
const flowRows = defineRows<ChangedJob>((idType) => [
  ...changedColumns(idType),
  { name: "is_aged", type: "boolean", read: ({ isAged }) => isAged || null },
]);

const columns = plainRows("uuid").columns.filter((name) => name !== "id" && name !== "priority");

const updateSql = (
  { job }: Tables,
  source: string,
  priority: { readonly stored: string; readonly base: string },
): string => `
UPDATE ${job} AS j SET ${columns.map((name) => `${name} = n.${name}`).join(", ")},
  priority = ${priority.stored},
  base_priority = ${priority.base},
  due_at = n.scheduled_at,
  ready = j.status = 'pending' AND n.scheduled_at <= $1::bigint
FROM ${source} WHERE j.id = n.id`;

const saveSql = (tables: Tables, single: boolean): string =>
  updateSql(tables, plainRows(tables.idType).source("n", 2, single), { stored: "n.priority", base: "NULL" });

// In an ordered group such a job keeps its place before all others, whatever its priority.
const hasBegun = "j.ordered IS NOT NULL AND j.lease_version > 0";

/** Wherever in its line the job is now, or however much later it comes: the next claim looks at the line again. */
const saveFlowSql = (tables: Tables, single: boolean): string => `
WITH saved AS (
  ${updateSql(tables, flowRows(tables.idType).source("n", 2, single), {
    stored: `CASE WHEN ${hasBegun} THEN j.priority
      WHEN n.is_aged THEN ${tables.schema}.flow_rank(j.queue, coalesce(j.home, j.lane), n.priority, n.scheduled_at)
      ELSE n.priority END`,
    base: `CASE WHEN ${hasBegun} OR n.is_aged THEN n.priority END`,
  })}
  RETURNING j.queue, j.home, j.lane, j.group_key, j.ordered, j.slots
)
INSERT INTO ${tables.lineNote} (${noteColumns}) ${notesOfSql("saved")}`;

/** Writes jobs that `replaced` or `updated` has made. The transaction has locked them, and they wait. */
export const saveWaitingJobs = async (
  { query, tables: { idType }, flow: { agePriorityMs } }: Database,
  { ctx, now }: TimedTransaction,
  jobs: readonly StateJob[],
): Promise<void> => {
  if (jobs.length === 0) return;
  const single = jobs.length === 1;
  const name = `save_waiting_${single ? "one" : "many"}`;
  const changed = jobs.map((job) => ({ ...job, isAged: agePriorityMs(job.queue, job.typeName) !== null }));
  const flow = changed.some((job) => job.group !== null || job.isAged);
  await query(
    ctx,
    flow
      ? {
          name: `${name}_flow`,
          sql: (tables) => saveFlowSql(tables, single),
          params: [now, ...flowRows(idType).params(changed)],
        }
      : {
          name,
          sql: (tables) => saveSql(tables, single),
          params: [now, ...plainRows(idType).params(changed)],
        },
  );
};
