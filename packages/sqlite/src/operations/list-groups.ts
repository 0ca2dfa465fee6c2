import type { GroupUse } from "leasehold/adapter";
import type { PrepareHolds } from "../flow/holds.ts";
import type { Lanes } from "../flow/lanes.ts";
import { describeLine } from "../flow/line-states.ts";
import type { Operation } from "../operation.ts";
import { defineRow } from "../row.ts";
import type { Tables } from "../tables.ts";

const mostLines = 10_000;
const mostCounted = 1_000;

const runningRow = defineRow((columns) => ({
  group: columns.value<string>("group_key"),
  running: columns.value<number>("count(*)"),
}));

const since = ({ waitingSince }: GroupUse): number => waitingSince ?? Number.MAX_SAFE_INTEGER;

export const prepareListGroups = (
  { job, line, lineIndex, runningIndex }: Tables,
  lanes: Lanes,
  holds: PrepareHolds,
): Operation<"listGroups"> => {
  const due = `SELECT j.scheduled_at FROM ${job} AS j INDEXED BY ${lineIndex}
    WHERE j.line = line.number AND j.scheduled_at <= ?`;
  const waitingRow = defineRow((columns) => ({
    state: describeLine(columns),
    waiting: columns.value<number>(`(SELECT count(*) FROM (${due} LIMIT ${mostCounted}))`),
    waitingSince: columns.value<number | null>(`(SELECT min(scheduled_at) FROM (${due}))`, null),
  }));
  const listWaiting = `SELECT ${waitingRow.columns} FROM ${line} AS line
    WHERE lane = ? AND group_key <> '' LIMIT ${mostLines}`;
  // No more than the workers hold at once.
  const countRunning = `SELECT ${runningRow.columns} FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND queue = ? AND type_name = ? AND group_key IS NOT NULL GROUP BY group_key`;

  return (db, { queue, typeName, held, order, limit }, now) => {
    const queueLanes = lanes.read(db).get(queue);
    const lane = queueLanes?.types.get(typeName);
    if (queueLanes === undefined || lane === undefined) return [];
    const findHold = holds(db, queue, queueLanes, now);
    const groups = new Map<string, GroupUse>();
    for (const { state, waiting, waitingSince } of waitingRow.all(db, listWaiting, [now, now, lane.number])) {
      const { group, stoppedBy } = state;
      const heldBy = waiting === 0 ? null : (findHold({ seq: null, typeName, line: state })?.by ?? null);
      groups.set(group, { group, running: 0, waiting, waitingSince, heldBy, stoppedBy });
    }
    for (const { group, running } of runningRow.all(db, countRunning, [queue, typeName])) {
      const idle = { group, waiting: 0, waitingSince: null, heldBy: null, stoppedBy: null };
      groups.set(group, { ...(groups.get(group) ?? idle), running });
    }
    return [...groups.values()]
      .filter(({ heldBy }) => held === undefined || held === (heldBy !== null))
      .filter(({ waiting, running }) => waiting + running > 0)
      .sort(
        (a, b) =>
          (order === "waiting" ? since(a) - since(b) : b.running - a.running) || (a.group < b.group ? -1 : 1),
      )
      .slice(0, limit);
  };
};
