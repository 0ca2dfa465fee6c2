import { isConflict } from "./errors.ts";

/**
 * Under contention a worker reads more candidates than it needs and claims from the middle. Without contention it
 * keeps the exact order.
 */
export interface Contention {
  /** How many times as many jobs to look at as are wanted. */
  size(queue: string): number;
  /** How many jobs of the queue were named, and how many of them others did not take first. */
  note(queue: string, named: number, taken: number): void;
}

const largest = 16;

const calmAfterMs = 1_000;

export const createCrowd = (now: () => number = () => performance.now()): Contention => {
  const crowds = new Map<string, { readonly size: number; readonly until: number }>();
  const size = (queue: string): number => {
    const found = crowds.get(queue);
    if (found === undefined) return 1;
    if (found.until > now()) return found.size;
    crowds.delete(queue);
    return 1;
  };
  return {
    size: (queue) => Math.round(size(queue)),
    note: (queue, named, taken) => {
      const before = size(queue);
      const after = taken < named ? Math.min(largest, before * 2) : before * 0.75;
      if (after < 1) crowds.delete(queue);
      else if (taken < named || before > 1) crowds.set(queue, { size: after, until: now() + calmAfterMs });
    },
  };
};

/**
 * Handles all items in one transaction. An item that another transaction has written fails the whole transaction at
 * once, without naming the item. So it is repeated with halves, and halves of these, until only such items fail.
 */
export const divide = async <TItem, TResult>(
  items: readonly TItem[],
  attempt: (items: readonly TItem[]) => Promise<readonly TResult[]>,
  whenHeld: (item: TItem) => TResult | Promise<TResult>,
): Promise<TResult[]> => {
  if (items.length === 0) return [];
  try {
    return [...(await attempt(items))];
  } catch (error) {
    if (!isConflict(error)) throw error;
    if (items.length === 1) return [await whenHeld(items[0]!)];
  }
  const half = Math.ceil(items.length / 2);
  return [
    ...(await divide(items.slice(0, half), attempt, whenHeld)),
    ...(await divide(items.slice(half), attempt, whenHeld)),
  ];
};

/** Jobs locked by other transactions. Claims skip them for one second. */
export interface LockedElsewhere {
  add(id: string): void;
  ids(): readonly string[];
}

const setAsideMs = 1_000;

const mostSetAside = 1_000;

export const createSetAside = (): LockedElsewhere => {
  const until = new Map<string, number>();
  const dropPast = (): void => {
    const now = performance.now();
    // In the order in which they end.
    for (const [id, end] of until) {
      if (end > now && until.size <= mostSetAside) return;
      until.delete(id);
    }
  };
  return {
    add: (id) => {
      until.delete(id);
      until.set(id, performance.now() + setAsideMs);
      dropPast();
    },
    ids: () => {
      dropPast();
      return [...until.keys()];
    },
  };
};
