import type { Document } from "../bson-values/types.ts";
import type { Tick } from "./ticks.ts";

/** What change streams are told about. */
export interface Change {
  readonly operation: "insert" | "update" | "replace" | "delete" | "drop" | "dropDatabase";
  readonly database: string;
  readonly collection: string;
  readonly before: Document | undefined;
  readonly after: Document | undefined;
  /** When the write was made; in a transaction before its commit. */
  readonly wallTime: Date;
}

export interface LoggedChange extends Change {
  readonly tick: Tick;
  /** The place among the changes of one commit. */
  readonly position: number;
}

export interface ChangeLog {
  append(tick: Tick, changes: readonly Change[]): void;
  /** Changes behind a place in the log; `undefined` when some of them are no longer kept. */
  after(tick: Tick, position: number): readonly LoggedChange[] | undefined;
  /** Fulfilled with the next change. */
  next(): Promise<void>;
}

const kept = 100_000;

export const createChangeLog = (): ChangeLog => {
  let log: LoggedChange[] = [];
  let forgottenUpTo: Tick = 0;
  let waiting: (() => void)[] = [];

  return {
    append: (tick, changes) => {
      log.push(...changes.map((change, position) => ({ ...change, tick, position })));
      if (log.length > 2 * kept) {
        forgottenUpTo = log[log.length - kept - 1]?.tick ?? 0;
        log = log.slice(-kept);
      }
      for (const wake of waiting.splice(0)) wake();
    },
    after: (tick, position) => {
      if (tick < forgottenUpTo) return undefined;
      let low = 0;
      let high = log.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        const change = log[middle];
        const isBehind =
          change !== undefined &&
          (change.tick > tick || (change.tick === tick && change.position > position));
        if (isBehind) high = middle;
        else low = middle + 1;
      }
      return log.slice(low);
    },
    next: () =>
      new Promise((wake) => {
        waiting.push(wake);
      }),
  };
};
