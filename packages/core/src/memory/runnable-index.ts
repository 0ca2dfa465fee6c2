import type { StateJob } from "../model/job.ts";
import type { JobRecord, Lane, RunnableEntry } from "./job-record.ts";
import { createHeapByTime, createTimedQueue, isCurrentEntry, isMostlyStale } from "./timed-queue.ts";

/** Finds what can be claimed or reaped without looking at anything else. */
export interface RunnableIndex {
  /** Must be called for every change of a row, with null for one that is not stored. */
  update(record: JobRecord, before: StateJob | null, after: StateJob | null, now: number): void;
  /** The lane of this name, made if need be. */
  open(queue: string, typeName: string): Lane;
  /** The lanes of a queue that have jobs, of these types or of all. */
  lanes(queue: string, typeNames: readonly string[] | null): Lane[];
  /** Removes and returns the job whose lease ran out first, if any has at `now`. */
  takeExpired(now: number): JobRecord | undefined;
  running(): Iterable<JobRecord>;
  /** How many entries are kept, stale ones included: what the index costs in memory. */
  size(): number;
}

export const createRunnableIndex = (): RunnableIndex => {
  const queues = new Map<string, Map<string, Lane>>();
  const leases = createHeapByTime<RunnableEntry>();
  let runningCount = 0;

  const open = (queue: string, typeName: string): Lane => {
    let lanes = queues.get(queue);
    if (lanes === undefined) queues.set(queue, (lanes = new Map<string, Lane>()));
    let lane = lanes.get(typeName);
    if (lane === undefined) {
      lane = {
        queue,
        typeName,
        pending: createTimedQueue(),
        leased: createTimedQueue(),
        counts: { blocked: 0, pending: 0, running: 0, completed: 0, failed: 0 },
      };
      lanes.set(typeName, lane);
    }
    return lane;
  };

  const removeIfEmpty = ({ queue, typeName, counts }: Lane): void => {
    if (counts.blocked + counts.pending + counts.running + counts.completed + counts.failed > 0) return;
    const lanes = queues.get(queue);
    lanes?.delete(typeName);
    if (lanes?.size === 0) queues.delete(queue);
  };

  const leave = (lane: Lane, { status }: StateJob): void => {
    lane.counts[status] -= 1;
    if (status === "running") runningCount -= 1;
  };

  const enter = (record: JobRecord, row: StateJob, now: number): void => {
    const { lane } = record;
    const { status, priority } = row;
    lane.counts[status] += 1;
    if (status === "pending") {
      record.entry = { record, at: row.scheduledAt, priority };
      lane.pending.add(record.entry, now);
    } else if (status === "running") {
      runningCount += 1;
      const entry: RunnableEntry = { record, at: row.leasedUntil ?? 0, priority };
      record.entry = entry;
      leases.push(entry);
      // Without an attempt left it can only be reaped. Where a call may have another opinion on that, it has to see it.
      if (row.attempt < row.maxAttempts || !row.maxAttemptsGiven) lane.leased.add(entry, now);
    }
  };

  const compact = (lane: Lane): void => {
    lane.pending.compact(lane.counts.pending);
    lane.leased.compact(lane.counts.running);
    if (isMostlyStale(leases.size(), runningCount)) leases.retain(isCurrentEntry);
  };

  function* allLanes(): Iterable<Lane> {
    for (const lanes of queues.values()) yield* lanes.values();
  }

  return {
    update: (record, before, after, now) => {
      const { lane } = record;
      record.entry = null;
      if (before !== null) leave(lane, before);
      if (after !== null) enter(record, after, now);
      else removeIfEmpty(lane);
      compact(lane);
    },
    open,
    lanes: (queue, typeNames) => {
      const lanes = queues.get(queue);
      if (lanes === undefined) return [];
      if (typeNames === null) return [...lanes.values()];
      const wanted: Lane[] = [];
      for (const typeName of new Set(typeNames)) {
        const lane = lanes.get(typeName);
        if (lane !== undefined) wanted.push(lane);
      }
      return wanted;
    },
    takeExpired: (now) => {
      for (let entry = leases.peek(); entry !== undefined; entry = leases.peek()) {
        const current = isCurrentEntry(entry);
        if (current && entry.at > now) return undefined;
        leases.pop();
        if (current) return entry.record;
      }
      return undefined;
    },
    *running() {
      for (const entry of leases.items()) if (isCurrentEntry(entry)) yield entry.record;
    },
    size: () => {
      let entries = leases.size();
      for (const lane of allLanes()) entries += lane.pending.size() + lane.leased.size();
      return entries;
    },
  };
};
