import type { StateJob } from "leasehold/adapter";
import type { Database } from "./database.ts";
import type { TimedTransaction } from "./dependants.ts";
import { defineRows } from "./sql/rows-parameter.ts";
import type { Tables } from "./tables.ts";

const changedRows = defineRows<StateJob>((idType) => [
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
]);

const columns = changedRows("uuid").columns.filter((name) => name !== "id");

const saveSql = ({ job, idType }: Tables, single: boolean): string => `
UPDATE ${job} AS j SET ${columns.map((name) => `${name} = n.${name}`).join(", ")},
  due_at = n.scheduled_at,
  ready = j.status = 'pending' AND n.scheduled_at <= $1::bigint
FROM ${changedRows(idType).source("n", 2, single)} WHERE j.id = n.id`;

/** Writes jobs that `replaced` or `updated` has made. The transaction has locked them, and they wait. */
export const saveWaitingJobs = async (
  { query, tables: { idType } }: Database,
  { ctx, now }: TimedTransaction,
  jobs: readonly StateJob[],
): Promise<void> => {
  if (jobs.length === 0) return;
  const single = jobs.length === 1;
  await query(ctx, {
    name: `save_waiting_${single ? "one" : "many"}`,
    sql: (tables) => saveSql(tables, single),
    params: [now, ...changedRows(idType).params(jobs)],
  });
};
