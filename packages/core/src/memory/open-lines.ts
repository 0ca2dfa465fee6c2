import { createHeap, type Heap } from "./heap.ts";
import type { Line, OpenLine, TimedLine } from "./line.ts";
import { isMostlyStale } from "./timed-queue.ts";

/**
 * The lines of a type with groups that a claim has to look at, by turn. A line that was found to be closed is not among
 * them until something changes in it, or until the moment from which on it may be open: however many jobs wait in closed
 * lines, they cost a claim nothing.
 */
export interface ClaimableGroups {
  /** Something about the line has changed. `turn` is its place if it was closed. */
  reopen(line: Line, turn: () => number): void;
  /** Puts it in its place again, because its turn has changed. */
  close(line: Line): void;
  /** The first line that is open. `claimableAt` says from when on a line is: `now` or before for one that is open. */
  first(now: number, claimableAt: (line: Line) => number, turn: (line: Line) => number): OpenLine | undefined;
  size(): number;
}

const goesBefore = (a: OpenLine, b: OpenLine): boolean =>
  a.turn !== b.turn ? a.turn < b.turn : a.number < b.number;

export const createOpenLines = (countLines: () => number): ClaimableGroups => {
  const open: Heap<OpenLine> = createHeap(goesBefore);
  const timed: Heap<TimedLine> = createHeap((a, b) => a.claimableAt < b.claimableAt);
  let opened = 0;

  const isOpen = (entry: OpenLine): boolean => entry.line.openEntry === entry;
  const isTimed = (entry: TimedLine): boolean => entry.line.timedEntry === entry;

  const close = (line: Line): void => {
    line.openEntry = null;
    line.timedEntry = null;
  };

  const reopen = (line: Line, turn: () => number): void => {
    if (line.pendingJobs === 0) return close(line);
    if (line.openEntry !== null) return;
    line.timedEntry = null;
    line.openEntry = { line, turn: turn(), number: opened };
    opened += 1;
    open.push(line.openEntry);
    if (isMostlyStale(open.size(), countLines())) open.retain(isOpen);
  };

  const closeUntil = (line: Line, claimableAt: number): void => {
    close(line);
    if (claimableAt === Number.POSITIVE_INFINITY) return;
    line.timedEntry = { line, claimableAt };
    timed.push(line.timedEntry);
    if (isMostlyStale(timed.size(), countLines())) timed.retain(isTimed);
  };

  return {
    reopen,
    close,
    first: (now, claimableAt, turn) => {
      for (let entry = timed.peek(); entry !== undefined; entry = timed.peek()) {
        const { line } = entry;
        const current = isTimed(entry);
        if (current && entry.claimableAt > now) break;
        timed.pop();
        if (current) reopen(line, () => turn(line));
      }
      for (let entry = open.peek(); entry !== undefined; entry = open.peek()) {
        if (isOpen(entry)) {
          const at = claimableAt(entry.line);
          if (at <= now) return entry;
          closeUntil(entry.line, at);
        }
        open.pop();
      }
      return undefined;
    },
    size: () => open.size() + timed.size(),
  };
};
