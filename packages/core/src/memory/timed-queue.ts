import { createHeap } from "./heap.ts";
import type { Heap } from "./heap.ts";

/** A job's place in the order of claims. It is valid only as long as the job says that it is its entry. */
export interface TimedEntry {
  readonly at: number;
  readonly priority: number;
  readonly record: { readonly order: number; readonly entry: TimedEntry | null };
}

/**
 * Entries in claim order among those whose time has come. Which ones these are depends on the `now` of each call, and
 * that may even go back: an entry that turns out not to be due yet returns to the later ones.
 *
 * Deletion is lazy. An entry whose job has moved on is dropped when it reaches the top of its heap, or by `compact`.
 */
export interface TimedQueue<TEntry extends TimedEntry> {
  add(entry: TEntry, now: number): void;
  /** The entry to claim first at `now`. */
  head(now: number): TEntry | undefined;
  /** Removes what `head` just returned. */
  take(): void;
  /** When the first entry after `now` falls due, given that none is due at `now`. */
  nextAt(): number | undefined;
  entries(): Iterable<TEntry>;
  /** How many entries are kept, stale ones included. */
  size(): number;
  /** Removes stale entries once they outnumber the `live` ones, so that memory use follows the live jobs. */
  compact(live: number): void;
}

export const isCurrentEntry = (entry: TimedEntry): boolean => entry.record.entry === entry;

export const runsBefore = (a: TimedEntry, b: TimedEntry): boolean => {
  if (a.priority !== b.priority) return a.priority > b.priority;
  if (a.at !== b.at) return a.at < b.at;
  return a.record.order < b.record.order;
};

const comesEarlier = (a: TimedEntry, b: TimedEntry): boolean => a.at < b.at;

export const createHeapByTime = <TEntry extends TimedEntry>(): Heap<TEntry> =>
  createHeap<TEntry>(comesEarlier);

// Below this a pass over the heap costs more than the few stale entries it frees.
const tolerated = 64;

/** Whether so many entries for so many live jobs means that most are stale. */
export const isMostlyStale = (entries: number, live: number): boolean => entries > 2 * live + tolerated;

export const createTimedQueue = <TEntry extends TimedEntry>(): TimedQueue<TEntry> => {
  const due = createHeap<TEntry>(runsBefore);
  const later = createHeapByTime<TEntry>();

  const size = (): number => due.size() + later.size();

  const promote = (now: number): void => {
    for (let entry = later.peek(); entry !== undefined; entry = later.peek()) {
      const current = isCurrentEntry(entry);
      if (current && entry.at > now) return;
      later.pop();
      if (current) due.push(entry);
    }
  };

  return {
    add: (entry, now) => {
      if (entry.at <= now) due.push(entry);
      else later.push(entry);
    },
    head: (now) => {
      promote(now);
      for (let entry = due.peek(); entry !== undefined; entry = due.peek()) {
        const current = isCurrentEntry(entry);
        if (current && entry.at <= now) return entry;
        due.pop();
        if (current) later.push(entry);
      }
      return undefined;
    },
    take: () => {
      due.pop();
    },
    nextAt: () => later.peek()?.at,
    *entries() {
      for (const entry of due.items()) if (isCurrentEntry(entry)) yield entry;
      for (const entry of later.items()) if (isCurrentEntry(entry)) yield entry;
    },
    size,
    compact: (live) => {
      if (!isMostlyStale(size(), live)) return;
      due.retain(isCurrentEntry);
      later.retain(isCurrentEntry);
    },
  };
};
