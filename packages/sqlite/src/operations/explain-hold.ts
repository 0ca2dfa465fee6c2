import { type Lanes } from "../flow/lanes.ts";
import type { PrepareHolds } from "../flow/holds.ts";
import { lineRow } from "../flow/line-states.ts";
import type { Operation } from "../operation.ts";
import { defineRow } from "../row.ts";
import type { Tables } from "../tables.ts";

const dueRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  line: columns.value<number | null>("line", null),
}));

export const prepareExplainHold = (
  { job, line }: Tables,
  lanes: Lanes,
  holds: PrepareHolds,
): Operation<"explainHold"> => {
  const findDue = `SELECT ${dueRow.columns} FROM ${job} WHERE id = ? AND status = 'pending' AND scheduled_at <= ?`;
  const findLine = `SELECT ${lineRow.columns} FROM ${line} WHERE number = ?`;
  return (db, { jobId }, now) => {
    const due = dueRow.first(db, findDue, [jobId, now]);
    const queueLanes = due === undefined ? undefined : lanes.read(db).get(due.queue);
    if (due === undefined || queueLanes === undefined) return null;
    const { seq, queue, typeName } = due;
    const state = due.line === null ? undefined : lineRow.first(db, findLine, [due.line]);
    return holds(db, queue, queueLanes, now)({ seq, typeName, line: state ?? null });
  };
};
