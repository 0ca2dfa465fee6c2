import type { ListRecurringCall, StateRecurringJob } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { recurringColumns, toStateRecurringJob } from "../recurring-rows.ts";
import { arrayLiteral } from "../sql/array-literal.ts";
import { nowSql } from "../sql/clock.ts";
import { numberOrNull } from "../sql/row-values.ts";

export const getRecurring = async (
  { query }: Database,
  { ctx, ids }: Call & { readonly ids: readonly string[] },
): Promise<(StateRecurringJob | undefined)[]> => {
  const rows = await query(ctx, {
    name: "get_recurring",
    sql: ({ recurring }) => `SELECT ${recurringColumns} FROM ${recurring} WHERE id = ANY ($1::text[])`,
    params: [arrayLiteral(ids)],
  });
  const found = new Map(rows.map(toStateRecurringJob).map((job) => [job.id, job]));
  return ids.map((id) => found.get(id));
};

export const listRecurring = async (
  { query }: Database,
  { ctx, limit, after, owner }: Call & ListRecurringCall,
): Promise<StateRecurringJob[]> => {
  const rows = await query(ctx, {
    name: "list_recurring",
    sql: ({ recurring }) => `SELECT ${recurringColumns} FROM ${recurring}
WHERE id > coalesce($1::text, '') AND ($2::text IS NULL OR owner = $2) ORDER BY id LIMIT $3::int`,
    params: [after, owner ?? null, limit],
  });
  return rows.map(toStateRecurringJob);
};

export const nextRecurringIn = async ({ query }: Database, { ctx, now }: Call): Promise<number | null> => {
  const [row] = await query(ctx, {
    name: "next_recurring_in",
    sql: ({ recurring }) => `SELECT greatest(0, fire_at - ${nowSql("$1")}) AS due_in FROM ${recurring}
WHERE NOT paused AND fire_at IS NOT NULL ORDER BY fire_at LIMIT 1`,
    params: [now ?? null],
  });
  return numberOrNull(row?.["due_in"]);
};
