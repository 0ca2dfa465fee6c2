import type { Change } from "./changes.ts";
import type { StoredRecord } from "./records.ts";
import type { Tick } from "./ticks.ts";

/** The writes of a transaction of several statements, and the moment it reads at. */
export interface StoreTransaction {
  readonly snapshot: Tick;
  readonly records: Set<StoredRecord>;
  readonly changes: Change[];
  /** Called at the end, with whether it was a commit. */
  readonly onEnd: ((isCommit: boolean) => void)[];
  /** Fulfilled with the commit or the abort; those who wait for its records wait for this. */
  readonly ended: Promise<void>;
  readonly end: () => void;
}

export const createStoreTransaction = (snapshot: Tick): StoreTransaction => {
  const { promise, resolve } = withResolvers();
  return { snapshot, records: new Set(), changes: [], onEnd: [], ended: promise, end: resolve };
};

const withResolvers = (): { promise: Promise<void>; resolve: () => void } => {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

/** A write outside transactions met a record that a transaction has written: it has to wait for its end. */
export class HeldByTransaction extends Error {
  readonly transaction: StoreTransaction;

  constructor(transaction: StoreTransaction) {
    super("the document is held by an open transaction");
    this.transaction = transaction;
  }
}
