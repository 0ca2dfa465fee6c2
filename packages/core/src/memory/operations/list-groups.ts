import type { GroupUse, ListGroupsCall } from "../../store/contract/limits.ts";
import { createHoldFinder, firstDue } from "../holds.ts";
import type { JobStore } from "../job-store.ts";
import { type Line, pendingOf } from "../line.ts";

const mostCounted = 1_000;

const useOf = (
  findHold: ReturnType<typeof createHoldFinder>,
  line: Line,
  stoppedBy: string | null,
  now: number,
): GroupUse => {
  let waiting = 0;
  let waitingSince: number | null = null;
  for (const { at } of pendingOf(line)) {
    if (at > now) continue;
    waiting += 1;
    waitingSince = Math.min(waitingSince ?? at, at);
  }
  const first = firstDue(line, now);
  return {
    group: line.group!,
    running: line.running,
    waiting: Math.min(waiting, mostCounted),
    waitingSince,
    throttledBy: first === undefined ? null : (findHold(first)?.by ?? null),
    stoppedBy,
  };
};

const since = ({ waitingSince }: GroupUse): number => waitingSince ?? Number.MAX_SAFE_INTEGER;

export const listGroups = (
  store: JobStore,
  { queue, typeName, throttled, order, limit }: ListGroupsCall,
  now: number,
): GroupUse[] => {
  const [queueType] = store.runnable.queueTypes(queue, [typeName]);
  if (queueType === undefined) return [];
  const cell = store.flow.find(queue, typeName);
  const findHold = createHoldFinder(store, now);
  return Array.from(queueType.groups.values(), (line) =>
    useOf(findHold, line, store.flow.line(cell, line.group).stoppedBy, now),
  )
    .filter(({ throttledBy }) => throttled === undefined || throttled === (throttledBy !== null))
    .filter(({ waiting, running }) => waiting + running > 0)
    .sort(
      (a, b) =>
        (order === "waiting" ? since(a) - since(b) : b.running - a.running) || (a.group < b.group ? -1 : 1),
    )
    .slice(0, limit);
};
