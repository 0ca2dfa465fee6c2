import type { StatisticsBucket, StateCause, StateProcess } from "../store/contract/history.ts";
import type { StateRecurringJob } from "../store/contract/recurring.ts";

interface Rows {
  readonly recurring: StateRecurringJob;
  readonly reporters: StateProcess;
  readonly rollups: StatisticsBucket;
  readonly causes: StateCause;
}

/** All that is stored beside jobs and rules, by key. */
export type TableRows = { readonly [TName in keyof Rows]: ReadonlyMap<string, Rows[TName]> };

/** Every change makes a new map, so what a transaction has to put back is what it began with. */
export interface Tables {
  rows(): TableRows;
  /** Replaces everything, as after a rollback. */
  restore(rows: TableRows): void;
  change<TName extends keyof Rows>(name: TName, change: (rows: Map<string, Rows[TName]>) => void): void;
}

export const createTables = (): Tables => {
  let rows: TableRows = {
    recurring: new Map(),
    reporters: new Map(),
    rollups: new Map(),
    causes: new Map(),
  };
  return {
    rows: () => rows,
    restore: (earlier) => {
      rows = earlier;
    },
    change: (name, change) => {
      const next = new Map(rows[name]);
      change(next);
      rows = { ...rows, [name]: next };
    },
  };
};
