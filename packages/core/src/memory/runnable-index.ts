import type { StateJob } from "../store/contract/job.ts";
import type { FlowCells } from "./flow-cells.ts";
import type { JobRecord, QueueIndex, QueueType, RunnableEntry } from "./job-record.ts";
import { compactLine, createLine, hasBegun, type Line } from "./line.ts";
import { createOpenLines } from "./open-lines.ts";
import { createHeapByTime, createTimedQueue, isCurrentEntry, isMostlyStale } from "./timed-queue.ts";

/** Finds what can be claimed or reaped without looking at anything else. */
export interface RunnableIndex {
  /** Must be called for every change of a row, with null for one that is not stored. */
  update(record: JobRecord, before: StateJob | null, after: StateJob | null, now: number): void;
  /** The one of this name, created if it does not exist. */
  open(queue: string, typeName: string): QueueType;
  queue(name: string): QueueIndex | undefined;
  queues(): Iterable<QueueIndex>;
  /** Those of a queue that have jobs, of these types or of all. */
  queueTypes(queue: string, typeNames: readonly string[] | null): QueueType[];
  /** Whether groups or rules concern the jobs of this queue. */
  usesFlow(queue: string): boolean;
  /** The turn that a closed line of a group has when it opens. */
  turnOf(queueType: QueueType, line: Line): number;
  /** A rule, a stop or a turn has changed: looks anew at the lines of a queue, of a type, or of one group. */
  reconsider(scope: {
    readonly queue: string;
    readonly typeName: string | null;
    readonly group?: string | null;
  }): void;
  /** Removes and returns the job whose lease expired first, if any has at `now`. */
  takeExpired(now: number): JobRecord | undefined;
  running(): Iterable<JobRecord>;
  /** How many entries are kept, stale ones included: what the index costs in memory. */
  size(): number;
}

export const createRunnableIndex = (cells: FlowCells): RunnableIndex => {
  const queues = new Map<string, QueueIndex>();
  const leases = createHeapByTime<RunnableEntry>();
  let runningCount = 0;

  const open = (name: string, typeName: string): QueueType => {
    let queue = queues.get(name);
    if (queue === undefined)
      queues.set(name, (queue = { name, types: new Map(), running: 0, groupLines: 0 }));
    let queueType = queue.types.get(typeName);
    if (queueType === undefined) {
      const groups = new Map<string, Line>();
      queueType = {
        queue,
        typeName,
        ungrouped: createLine(null),
        groups,
        claimableGroups: createOpenLines(() => groups.size),
        leased: createTimedQueue(),
        counts: { blocked: 0, pending: 0, running: 0, completed: 0, failed: 0 },
      };
      queue.types.set(typeName, queueType);
    }
    return queueType;
  };

  const removeIfEmpty = ({ queue, typeName, counts }: QueueType): void => {
    if (counts.blocked + counts.pending + counts.running + counts.completed + counts.failed > 0) return;
    queue.types.delete(typeName);
    if (queue.types.size === 0) queues.delete(queue.name);
  };

  const openLine = (queueType: QueueType, group: string | null): Line => {
    if (group === null) return queueType.ungrouped;
    let line = queueType.groups.get(group);
    if (line === undefined) {
      line = createLine(group);
      queueType.groups.set(group, line);
      queueType.queue.groupLines += 1;
    }
    return line;
  };

  const turnOf = (queueType: QueueType, { group }: Line): number => {
    const cell = cells.find(queueType.queue.name, queueType.typeName);
    return Math.max(cells.line(cell, group).turn, cell?.state.served ?? 0);
  };

  /** A job of this group has come, gone or changed: the line may be open now, or empty. */
  const settleGroup = (queueType: QueueType, line: Line): void => {
    queueType.claimableGroups.reopen(line, () => turnOf(queueType, line));
    const isEmpty = line.pendingJobs + line.running === 0;
    if (line.group === null || !isEmpty || queueType.groups.get(line.group) !== line) return;
    queueType.groups.delete(line.group);
    queueType.queue.groupLines -= 1;
  };

  const leave = (queueType: QueueType, line: Line, { status, ordered }: StateJob): void => {
    queueType.counts[status] -= 1;
    if (status === "pending") line.pendingJobs -= 1;
    else if (status === "running") {
      runningCount -= 1;
      queueType.queue.running -= 1;
      line.running -= 1;
    } else return;
    if (ordered !== null) line.orderedJobs -= 1;
  };

  const addPending = (record: JobRecord, now: number): void => {
    const { row, line } = record;
    record.entry = { record, at: row.scheduledAt, priority: row.priority };
    if (row.ordered !== null && hasBegun(row)) line.begun.push(record.entry);
    else line.pending.add(record.entry, now);
  };

  const enter = (record: JobRecord, row: StateJob, now: number): void => {
    const { queueType } = record;
    const { status, priority } = row;
    queueType.counts[status] += 1;
    if (status !== "pending" && status !== "running") return;
    const line = openLine(queueType, row.group);
    record.line = line;
    if (row.ordered !== null) line.orderedJobs += 1;
    if (status === "pending") {
      line.pendingJobs += 1;
      addPending(record, now);
    } else {
      runningCount += 1;
      queueType.queue.running += 1;
      line.running += 1;
      const entry: RunnableEntry = { record, at: row.leasedUntil ?? 0, priority };
      record.entry = entry;
      leases.push(entry);
      // Without an attempt left it can only be reaped. A call whose `maxAttempts` may say otherwise has to see it.
      if (row.attempt < row.maxAttempts || !row.maxAttemptsGiven) queueType.leased.add(entry, now);
    }
  };

  const compact = (queueType: QueueType, line: Line): void => {
    compactLine(line);
    queueType.leased.compact(queueType.counts.running);
    if (isMostlyStale(leases.size(), runningCount)) leases.retain(isCurrentEntry);
  };

  const reconsiderType = (queueType: QueueType, group: string | null | undefined): void => {
    const line = typeof group === "string" ? queueType.groups.get(group) : undefined;
    const lines = typeof group === "string" ? [] : queueType.groups.values();
    for (const each of line === undefined ? lines : [line]) {
      queueType.claimableGroups.close(each);
      settleGroup(queueType, each);
    }
  };

  function* allQueueTypes(): Iterable<QueueType> {
    for (const { types } of queues.values()) yield* types.values();
  }

  return {
    update: (record, before, after, now) => {
      const { queueType, line } = record;
      record.entry = null;
      if (before !== null) leave(queueType, line, before);
      if (after !== null) enter(record, after, now);
      else removeIfEmpty(queueType);
      compact(queueType, record.line);
      if (record.row.group !== null) settleGroup(queueType, record.line);
    },
    open,
    queue: (name) => queues.get(name),
    queues: () => queues.values(),
    queueTypes: (name, typeNames) => {
      const types = queues.get(name)?.types;
      if (types === undefined) return [];
      if (typeNames === null) return [...types.values()];
      const wanted: QueueType[] = [];
      for (const typeName of new Set(typeNames)) {
        const queueType = types.get(typeName);
        if (queueType !== undefined) wanted.push(queueType);
      }
      return wanted;
    },
    usesFlow: (name) => cells.isRuled(name) || (queues.get(name)?.groupLines ?? 0) > 0,
    turnOf,
    reconsider: ({ queue, typeName, group }) => {
      for (const queueType of queues.get(queue)?.types.values() ?? []) {
        if (typeName === null || typeName === queueType.typeName) reconsiderType(queueType, group);
      }
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
      for (const { ungrouped, groups, claimableGroups, leased } of allQueueTypes()) {
        entries += leased.size() + claimableGroups.size();
        for (const line of [ungrouped, ...groups.values()])
          entries += line.pending.size() + line.begun.size();
      }
      return entries;
    },
  };
};
