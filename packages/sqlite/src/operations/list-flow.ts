import { emptyFlowRule, type FlowUse, tokensLeft } from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import type { FindHold, PrepareHolds } from "../flow/holds.ts";
import type { Lane, Lanes, QueueLanes } from "../flow/lanes.ts";
import { describeLine, laneStateRow } from "../flow/line-states.ts";
import type { Operation } from "../operation.ts";
import { defineRow } from "../row.ts";
import type { Runnable } from "../runnable.ts";
import type { Tables } from "../tables.ts";

type LineCounts = Pick<FlowUse, "openLines" | "heldLines">;

const mostLines = 10_000;

const compare = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null || (b !== null && a < b) ? -1 : 1;

export const prepareListFlow = (
  { job, lane: table, line, lineIndex, runningIndex }: Tables,
  runnable: Runnable,
  lanes: Lanes,
  holds: PrepareHolds,
): Operation<"listFlow"> => {
  const dueRow = defineRow(describeLine);
  const pending = `FROM ${job} AS j INDEXED BY ${lineIndex} WHERE j.line = line.number`;
  // Only lines that a claim has looked at since are neither open nor waiting for a moment, and yet have jobs.
  const listDue = `SELECT ${dueRow.columns} FROM ${line} AS line WHERE lane = ? AND (
      EXISTS (SELECT 1 ${pending} AND j.rank IS NOT NULL AND j.scheduled_at <= ?)
      OR EXISTS (SELECT 1 ${pending} AND j.rank IS NULL AND j.scheduled_at <= ?)) LIMIT ${2 * mostLines}`;
  const readState = `SELECT ${laneStateRow.columns} FROM ${table} WHERE number = ?`;
  const hasGroups = `SELECT 1 WHERE EXISTS (SELECT 1 FROM ${line} AS line WHERE lane = ? AND group_key <> ''
      AND (stopped_by IS NOT NULL OR EXISTS (SELECT 1 ${pending})))
    OR EXISTS (SELECT 1 FROM ${job} INDEXED BY ${runningIndex}
      WHERE status = 'running' AND queue = ? AND type_name = ? AND group_key IS NOT NULL)`;

  const countLines = (
    db: SqliteConnection,
    queue: string,
    typeName: string,
    lane: Lane | undefined,
    findHold: FindHold,
    now: number,
  ): LineCounts => {
    let [openLines, heldLines] = [0, 0];
    const add = (hold: unknown): void => {
      if (hold === null) openLines += 1;
      else heldLines += 1;
    };
    if (runnable.firstOutside(db, queue, typeName, 1, now).length > 0)
      add(findHold({ seq: null, typeName, line: null }));
    if (lane !== undefined)
      for (const state of dueRow.all(db, listDue, [lane.number, now, now]))
        add(findHold({ seq: null, typeName, line: state }));
    return { openLines, heldLines };
  };

  const countAll = (
    db: SqliteConnection,
    { own: { queue }, types }: QueueLanes,
    typeNames: readonly string[],
    findHold: FindHold,
    now: number,
  ): LineCounts => {
    const counts = typeNames.map((name) => countLines(db, queue, name, types.get(name), findHold, now));
    const sum = (of: keyof LineCounts): number =>
      Math.min(
        mostLines,
        counts.reduce((total, each) => total + each[of], 0),
      );
    return { openLines: sum("openLines"), heldLines: sum("heldLines") };
  };

  return (db, { queue: wanted }, now) => {
    const all = lanes.read(db);
    const listed = [...all.all()].filter(
      ({ number, queue, typeName, rule }) =>
        (wanted === null || queue === wanted) &&
        (rule !== undefined ||
          (typeName !== null && db.first(hasGroups, [number, queue, typeName]) !== undefined)),
    );
    return listed
      .sort((a, b) => compare(a.queue, b.queue) || compare(a.typeName, b.typeName))
      .map(({ number, queue, typeName, rule = emptyFlowRule(queue, typeName) }): FlowUse => {
        const queueLanes = all.get(queue)!;
        const { running, tat } = laneStateRow.first(db, readState, [number])!;
        const types = typeName === null ? runnable.typesOf(db, queue) : [typeName];
        return {
          rule,
          running,
          tokens: rule.rate === null ? null : tokensLeft(rule.rate, tat, now),
          ...countAll(db, queueLanes, types, holds(db, queue, queueLanes, now), now),
        };
      });
  };
};
