import type { StateRecurringJob } from "../contracts/state-adapter.ts";

export type RecurringRows = ReadonlyMap<string, StateRecurringJob>;

/** The recurring jobs. Every change makes a new map, so what a transaction has to put back is the map it began with. */
export interface RecurringStore {
  rows(): RecurringRows;
  /** Replaces everything, as after a rollback. */
  restore(rows: RecurringRows): void;
  change(change: (rows: Map<string, StateRecurringJob>) => void): void;
}

export const createRecurringStore = (): RecurringStore => {
  let rows: RecurringRows = new Map();
  return {
    rows: () => rows,
    restore: (earlier) => {
      rows = earlier;
    },
    change: (change) => {
      const next = new Map(rows);
      change(next);
      rows = next;
    },
  };
};
