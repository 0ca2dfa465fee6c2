import type { Actions, StateAction } from "leasehold/adapter";
import type { Operation } from "../database/operation.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

type ActionOperations = { readonly [TMethod in keyof Actions<object>]: Operation<TMethod> };

const actionRow = defineRow((columns): StateAction => ({
  id: columns.value("id"),
  actor: columns.value("actor"),
  kind: columns.value("kind"),
  startedAt: columns.value("started_at"),
  changedAt: columns.value("changed_at", null),
  plan: columns.value("plan"),
  result: columns.value("result", null),
}));

const replaced = defineRow((columns) => ({ id: columns.value<string>("id") }));

export const prepareActions = ({ action }: Tables): ActionOperations => {
  const select = `SELECT ${actionRow.columns} FROM ${action}`;
  const record = `INSERT INTO ${action} (${actionRow.columns}) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET result = excluded.result, changed_at = excluded.changed_at`;
  const replace = `UPDATE ${action} SET result = ?, changed_at = ? WHERE id = ? AND result IS ?
    RETURNING ${replaced.columns}`;
  const byId = `${select} WHERE id = ?`;
  const order = "ORDER BY started_at DESC, id DESC LIMIT ?";
  const firstPage = `${select} ${order}`;
  const nextPage = `${select} WHERE (started_at, id) < (?, ?) ${order}`;

  return {
    recordAction: (db, { action: { id, actor, kind, plan, result } }, now) => {
      db.run(record, [id, actor, kind, now, result === null ? null : now, plan, result]);
    },
    replaceActionResult: (db, { id, from, to }, now) =>
      replaced.first(db, replace, [to, now, id, from]) !== undefined,
    getActions: (db, { ids }) => ids.map((id) => actionRow.first(db, byId, [id])),
    listActions: (db, { limit, after }) =>
      after === null
        ? actionRow.all(db, firstPage, [limit])
        : actionRow.all(db, nextPage, [after.startedAt, after.id, limit]),
  };
};
