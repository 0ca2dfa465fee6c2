import type { NewRecurringJob, StateRecurringJob } from "leasehold/adapter";
import type { Call, CallInTransaction, Database } from "../database.ts";
import { recurringColumns, toStateRecurringJob } from "../recurring-rows.ts";
import { arrayLiteral } from "../sql/array-literal.ts";
import { nowSql } from "../sql/clock.ts";
import { text } from "../sql/row-values.ts";

/** The lock on the id also keeps others from putting a row that is not there yet. Ticks go by row locks alone. */
export const lockRecurring = async (
  { query }: Database,
  { ctx, id }: CallInTransaction & { readonly id: string },
): Promise<StateRecurringJob | undefined> => {
  await query(ctx, {
    name: "lock_recurring_id",
    sql: ({ recurring }) =>
      `SELECT pg_advisory_xact_lock(hashtextextended('${recurring} ' || $1::text, 0))::text`,
    params: [id],
  });
  const rows = await query(ctx, {
    name: "lock_recurring",
    sql: ({ recurring }) => `SELECT ${recurringColumns} FROM ${recurring} WHERE id = $1::text FOR UPDATE`,
    params: [id],
  });
  return rows.map(toStateRecurringJob)[0];
};

export const putRecurring = async (
  { query }: Database,
  { ctx, now, job }: CallInTransaction & { readonly job: NewRecurringJob },
): Promise<StateRecurringJob> => {
  const [row] = await query(ctx, {
    name: "put_recurring",
    sql: ({ recurring, idType }) => `
INSERT INTO ${recurring} AS r (${recurringColumns})
SELECT $2, $3, $4, $5, $6, $7, $8::${idType}, $9, clock.now, clock.now, $10, $11 FROM (SELECT ${nowSql("$1")} AS now) AS clock
ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, paused = excluded.paused, version = excluded.version,
  next_nominal_at = excluded.next_nominal_at, fire_at = excluded.fire_at, last_sequence_id = excluded.last_sequence_id,
  zone_data = excluded.zone_data, updated_at = excluded.updated_at, record = excluded.record,
  definition = excluded.definition
RETURNING ${recurringColumns}`,
    params: [
      now ?? null,
      job.id,
      job.owner,
      job.paused,
      job.version,
      job.nextNominalAt,
      job.fireAt,
      job.lastSequenceId,
      job.zoneData,
      job.record,
      job.definition,
    ],
  });
  return toStateRecurringJob(row!);
};

export const deleteRecurring = async (
  { query }: Database,
  { ctx, ids }: Call & { readonly ids: readonly string[] },
): Promise<string[]> => {
  const rows = await query(ctx, {
    name: "delete_recurring",
    // In the order of the ids, so that two calls cannot lock each other out.
    sql: ({ recurring }) => `WITH locked AS MATERIALIZED (
  SELECT id FROM ${recurring} WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE
)
DELETE FROM ${recurring} AS r USING locked WHERE r.id = locked.id RETURNING r.id`,
    params: [arrayLiteral(ids)],
  });
  const deleted = new Set(rows.map((row) => text(row["id"])));
  return ids.filter((id) => deleted.has(id));
};
