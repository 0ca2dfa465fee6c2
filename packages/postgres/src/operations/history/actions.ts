import type { ListActionsCall, NewAction, ReplaceActionResultCall, StateAction } from "leasehold/adapter";
import type { Call, Database } from "../../database/database.ts";
import type { SqlRow } from "../../database/provider.ts";
import { arrayLiteral } from "../../database/sql.ts";
import { clockCte, now } from "../../database/sql.ts";
import { numberOrNull, text, textOrNull } from "../../database/sql.ts";

const toAction = (row: SqlRow): StateAction => ({
  id: text(row["id"]),
  actor: text(row["actor"]),
  kind: text(row["kind"]),
  plan: text(row["plan"]),
  result: textOrNull(row["result"]),
  startedAt: Number(row["started_at"]),
  changedAt: numberOrNull(row["changed_at"]),
});

export const recordAction = async (
  { query, tables }: Database,
  call: Call & { readonly action: NewAction },
): Promise<void> => {
  const { id, actor, kind, plan, result } = call.action;
  await query(call.ctx, {
    sql: `WITH ${clockCte("$1")}
      INSERT INTO ${tables.action} (id, actor, kind, plan, result, started_at, changed_at)
      VALUES ($2::text, $3::text, $4::text, $5::text, $6::text, ${now}, CASE WHEN $6::text IS NOT NULL THEN ${now} END)
      ON CONFLICT (id) DO UPDATE SET result = excluded.result, changed_at = excluded.changed_at`,
    params: [call.now ?? null, id, actor, kind, plan, result],
  });
};

export const replaceActionResult = async (
  { query, tables }: Database,
  call: Call & ReplaceActionResultCall,
): Promise<boolean> => {
  const rows = await query(call.ctx, {
    sql: `WITH ${clockCte("$1")}
      UPDATE ${tables.action} SET result = $4::text, changed_at = ${now}
      WHERE id = $2::text AND result IS NOT DISTINCT FROM $3::text RETURNING id`,
    params: [call.now ?? null, call.id, call.from, call.to],
  });
  return rows.length > 0;
};

export const getActions = async (
  { query, tables }: Database,
  call: Call & { readonly ids: readonly string[] },
): Promise<(StateAction | undefined)[]> => {
  const rows = await query(call.ctx, {
    sql: `SELECT * FROM ${tables.action} WHERE id = ANY ($1::text[])`,
    params: [arrayLiteral(call.ids)],
  });
  const actions = new Map(rows.map(toAction).map((action) => [action.id, action]));
  return call.ids.map((id) => actions.get(id));
};

export const listActions = async (
  { query, tables }: Database,
  call: Call & ListActionsCall,
): Promise<StateAction[]> => {
  const { after, limit } = call;
  const rows = await query(call.ctx, {
    sql: `SELECT * FROM ${tables.action} ${after === null ? "" : "WHERE (started_at, id) < ($2::bigint, $3::text)"}
      ORDER BY started_at DESC, id DESC LIMIT $1::int`,
    params: [limit, ...(after === null ? [] : [after.startedAt, after.id])],
  });
  return rows.map(toAction);
};
