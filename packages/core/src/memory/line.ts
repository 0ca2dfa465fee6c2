import type { StateJob } from "../store/contract/job.ts";
import { createHeap, type Heap } from "./heap.ts";
import type { RunnableEntry } from "./job-record.ts";
import { createTimedQueue, isCurrentEntry, isMostlyStale, type TimedQueue } from "./timed-queue.ts";

/** The jobs of one type and group, or those of a type without a group, as far as they are pending or running. */
export interface Line {
  readonly group: string | null;
  /** The pending jobs in the order of claims. */
  readonly pending: TimedQueue<RunnableEntry>;
  /** Of an ordered line, the pending jobs that have begun. They go first, and the others wait for them. */
  readonly begun: Heap<RunnableEntry>;
  pendingJobs: number;
  running: number;
  /** How many of these jobs are ordered. With one of them, all are treated as ordered. */
  orderedJobs: number;
  /** Its valid place among the lines of its type that a claim looks at; null while it is closed. */
  openEntry: OpenLine | null;
  /** While it is closed until a moment that is known. */
  timedEntry: TimedLine | null;
}

export interface OpenLine {
  readonly line: Line;
  readonly turn: number;
  /** Breaks ties: the line that opened first goes first. */
  readonly number: number;
}

export interface TimedLine {
  readonly line: Line;
  readonly claimableAt: number;
}

const beganBefore = (a: RunnableEntry, b: RunnableEntry): boolean =>
  a.at !== b.at ? a.at < b.at : a.record.order < b.record.order;

export const createLine = (group: string | null): Line => ({
  group,
  pending: createTimedQueue(),
  begun: createHeap(beganBefore),
  pendingJobs: 0,
  running: 0,
  orderedJobs: 0,
  openEntry: null,
  timedEntry: null,
});

/** Whether this pending job of an ordered line goes before those that were never claimed. */
export const hasBegun = ({ group, ordered, leaseVersion }: StateJob): boolean =>
  group !== null && ordered !== null && leaseVersion > 0;

const firstBegun = ({ begun }: Line): RunnableEntry | undefined => {
  for (let entry = begun.peek(); entry !== undefined; entry = begun.peek()) {
    if (isCurrentEntry(entry)) return entry;
    begun.pop();
  }
  return undefined;
};

/** The job that goes first, if it is due. */
export const firstOf = (line: Line, now: number): RunnableEntry | undefined => {
  const begun = firstBegun(line);
  if (begun === undefined) return line.pending.head(now);
  return begun.at <= now ? begun : undefined;
};

/** From when on the first of the pending jobs is due; infinity without one. */
export const dueAtOf = (line: Line, now: number): number => {
  const begun = firstBegun(line);
  if (begun !== undefined) return begun.at;
  return line.pending.head(now) === undefined ? (line.pending.nextAt() ?? Number.POSITIVE_INFINITY) : now;
};

/** Its pending jobs in no order. */
export function* pendingOf(line: Line): Iterable<RunnableEntry> {
  for (const entry of line.begun.items()) if (isCurrentEntry(entry)) yield entry;
  yield* line.pending.entries();
}

export const compactLine = ({ group, pending, begun, pendingJobs }: Line): void => {
  pending.compact(pendingJobs);
  if (group !== null && isMostlyStale(begun.size(), pendingJobs)) begun.retain(isCurrentEntry);
};
