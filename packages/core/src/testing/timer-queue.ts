import type { CancelTimer } from "../base/runtime.ts";

export interface QueuedTimer {
  readonly due: number;
  readonly callback: () => void;
}

/** Timers by the moment they are due, and among equals in the order they were set. */
export interface TimerQueue {
  add(due: number, callback: () => void): CancelTimer;
  take(): QueuedTimer | undefined;
  nextDue(): number | undefined;
  size(): number;
}

interface Entry extends QueuedTimer {
  readonly order: number;
}

export const createTimerQueue = (): TimerQueue => {
  // The next one last: most timers are set for soon and cancelled early, so both happen near the cheap end.
  const entries: Entry[] = [];
  let lastOrder = 0;

  /** Where an entry stands or would stand. */
  const locate = (due: number, order: number): number => {
    let low = 0;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = entries[middle]!;
      if (other.due > due || (other.due === due && other.order > order)) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    add: (due, callback) => {
      const entry: Entry = { due, callback, order: ++lastOrder };
      entries.splice(locate(due, entry.order), 0, entry);
      return () => {
        const index = locate(due, entry.order);
        if (entries[index] === entry) entries.splice(index, 1);
      };
    },
    take: () => entries.pop(),
    nextDue: () => entries.at(-1)?.due,
    size: () => entries.length,
  };
};
