import type { AdvancedRecurringJob, DueRecurringJobs, LockDueRecurringCall } from "leasehold/adapter";
import type { CallInTransaction, Database } from "../database.ts";
import { recurringColumns, toStateRecurringJob } from "../recurring-rows.ts";
import { nowSql } from "../sql/clock.ts";
import { defineRows } from "../sql/rows-parameter.ts";
import type { Tables } from "../tables.ts";

/** The present is read first: a row that somebody else holds now and gives back later is then simply for the next tick. */
const lockSql = ({ recurring }: Tables, condition: string, limit: string): string => `
WITH clock AS MATERIALIZED (SELECT ${nowSql("$1")} AS now),
due AS MATERIALIZED (
  SELECT ${recurringColumns} FROM ${recurring}
  WHERE NOT paused AND (${condition})
  ORDER BY fire_at, id LIMIT ${limit}::int FOR UPDATE SKIP LOCKED
)
SELECT clock.now, due.* FROM clock LEFT JOIN due ON true ORDER BY due.fire_at, due.id`;

const isDue = "fire_at <= (SELECT now FROM clock)";

export const lockDueRecurring = async (
  { query }: Database,
  { ctx, now, limit, zoneData }: CallInTransaction & LockDueRecurringCall,
): Promise<DueRecurringJobs> => {
  const rows = await query(
    ctx,
    zoneData === null
      ? {
          name: "lock_due_recurring",
          sql: (tables) => lockSql(tables, isDue, "$2"),
          params: [now ?? null, limit],
        }
      : {
          name: "lock_due_or_outdated_recurring",
          sql: (tables) =>
            lockSql(
              tables,
              `${isDue} OR fire_at IS NOT NULL AND zone_data <> '' AND zone_data < $3::text COLLATE "C"`,
              "$2",
            ),
          params: [now ?? null, limit, zoneData],
        },
  );
  return {
    now: Number(rows[0]!["now"]),
    jobs: rows.filter((row) => row["id"] !== null).map(toStateRecurringJob),
  };
};

const advancedRows = defineRows<AdvancedRecurringJob>((idType) => [
  { name: "id", type: "text", read: ({ id }) => id },
  { name: "next_nominal_at", type: "bigint", read: ({ nextNominalAt }) => nextNominalAt },
  { name: "fire_at", type: "bigint", read: ({ fireAt }) => fireAt },
  { name: "last_sequence_id", type: idType, read: ({ lastSequenceId }) => lastSequenceId },
  { name: "zone_data", type: "text", read: ({ zoneData }) => zoneData },
  { name: "record", type: "text", read: ({ record }) => record },
]);

export const advanceRecurring = async (
  { query, tables: { idType } }: Database,
  { ctx, jobs }: CallInTransaction & { readonly jobs: readonly AdvancedRecurringJob[] },
): Promise<void> => {
  if (jobs.length === 0) return;
  const single = jobs.length === 1;
  await query(ctx, {
    name: single ? "advance_one_recurring" : "advance_recurring",
    sql: ({
      recurring,
    }) => `UPDATE ${recurring} AS r SET next_nominal_at = a.next_nominal_at, fire_at = a.fire_at,
  last_sequence_id = a.last_sequence_id, zone_data = a.zone_data, record = a.record
FROM ${advancedRows(idType).source("a", 1, single)} WHERE r.id = a.id`,
    params: advancedRows(idType).params(jobs),
  });
};
