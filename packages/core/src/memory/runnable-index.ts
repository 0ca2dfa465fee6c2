import type { StateJob } from "../model/job.ts";
import type { JobRecord, QueueType, RunnableEntry } from "./job-record.ts";
import { createHeapByTime, createTimedQueue, isCurrentEntry, isMostlyStale } from "./timed-queue.ts";

/** Finds what can be claimed or reaped without looking at anything else. */
export interface RunnableIndex {
  /** Must be called for every change of a row, with null for one that is not stored. */
  update(record: JobRecord, before: StateJob | null, after: StateJob | null, now: number): void;
  /** The one of this name, created if it does not exist. */
  open(queue: string, typeName: string): QueueType;
  /** Those of a queue that have jobs, of these types or of all. */
  queueTypes(queue: string, typeNames: readonly string[] | null): QueueType[];
  /** Removes and returns the job whose lease expired first, if any has at `now`. */
  takeExpired(now: number): JobRecord | undefined;
  running(): Iterable<JobRecord>;
  /** How many entries are kept, stale ones included: what the index costs in memory. */
  size(): number;
}

export const createRunnableIndex = (): RunnableIndex => {
  const queues = new Map<string, Map<string, QueueType>>();
  const leases = createHeapByTime<RunnableEntry>();
  let runningCount = 0;

  const open = (queue: string, typeName: string): QueueType => {
    let queueTypes = queues.get(queue);
    if (queueTypes === undefined) queues.set(queue, (queueTypes = new Map<string, QueueType>()));
    let queueType = queueTypes.get(typeName);
    if (queueType === undefined) {
      queueType = {
        queue,
        typeName,
        pending: createTimedQueue(),
        leased: createTimedQueue(),
        counts: { blocked: 0, pending: 0, running: 0, completed: 0, failed: 0 },
      };
      queueTypes.set(typeName, queueType);
    }
    return queueType;
  };

  const removeIfEmpty = ({ queue, typeName, counts }: QueueType): void => {
    if (counts.blocked + counts.pending + counts.running + counts.completed + counts.failed > 0) return;
    const queueTypes = queues.get(queue);
    queueTypes?.delete(typeName);
    if (queueTypes?.size === 0) queues.delete(queue);
  };

  const leave = (queueType: QueueType, { status }: StateJob): void => {
    queueType.counts[status] -= 1;
    if (status === "running") runningCount -= 1;
  };

  const enter = (record: JobRecord, row: StateJob, now: number): void => {
    const { queueType } = record;
    const { status, priority } = row;
    queueType.counts[status] += 1;
    if (status === "pending") {
      record.entry = { record, at: row.scheduledAt, priority };
      queueType.pending.add(record.entry, now);
    } else if (status === "running") {
      runningCount += 1;
      const entry: RunnableEntry = { record, at: row.leasedUntil ?? 0, priority };
      record.entry = entry;
      leases.push(entry);
      // Without an attempt left it can only be reaped. A call whose `maxAttempts` may say otherwise has to see it.
      if (row.attempt < row.maxAttempts || !row.maxAttemptsGiven) queueType.leased.add(entry, now);
    }
  };

  const compact = (queueType: QueueType): void => {
    queueType.pending.compact(queueType.counts.pending);
    queueType.leased.compact(queueType.counts.running);
    if (isMostlyStale(leases.size(), runningCount)) leases.retain(isCurrentEntry);
  };

  function* allQueueTypes(): Iterable<QueueType> {
    for (const queueTypes of queues.values()) yield* queueTypes.values();
  }

  return {
    update: (record, before, after, now) => {
      const { queueType } = record;
      record.entry = null;
      if (before !== null) leave(queueType, before);
      if (after !== null) enter(record, after, now);
      else removeIfEmpty(queueType);
      compact(queueType);
    },
    open,
    queueTypes: (queue, typeNames) => {
      const queueTypes = queues.get(queue);
      if (queueTypes === undefined) return [];
      if (typeNames === null) return [...queueTypes.values()];
      const wanted: QueueType[] = [];
      for (const typeName of new Set(typeNames)) {
        const queueType = queueTypes.get(typeName);
        if (queueType !== undefined) wanted.push(queueType);
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
      for (const queueType of allQueueTypes()) entries += queueType.pending.size() + queueType.leased.size();
      return entries;
    },
  };
};
