import type { Document } from "../bson-values/types.ts";
import { createChangeLog } from "./changes.ts";
import type { Change, ChangeLog } from "./changes.ts";
import type { Collection } from "./collection.ts";
import { newestVersion } from "./records.ts";
import type { StoredRecord, View } from "./records.ts";
import { createTickSource, latest } from "./ticks.ts";
import type { Tick } from "./ticks.ts";
import { createStoreTransaction, HeldByTransaction } from "./transaction.ts";
import type { StoreTransaction } from "./transaction.ts";
import { checkUniqueKeys } from "./unique-keys.ts";
import { writeConflict } from "./write-conflict.ts";

/** Records with versions: snapshot isolation for transactions, one commit per write outside of them. */
export interface Store {
  readonly changes: ChangeLog;
  /** The cluster time. */
  time(): Tick;
  now(): Date;
  begin(): StoreTransaction;
  commit(transaction: StoreTransaction): void;
  abort(transaction: StoreTransaction): void;
  view(transaction: StoreTransaction | undefined): View;
  insert(collection: Collection, document: Document, transaction: StoreTransaction | undefined): void;
  /** Puts `document` in the place of what the record holds; `undefined` deletes it. */
  replace(
    record: StoredRecord,
    document: Document | undefined,
    operation: Change["operation"],
    transaction: StoreTransaction | undefined,
  ): void;
  /** Logs what is not a write to a document. */
  log(change: Change): void;
  transactions(): ReadonlySet<StoreTransaction>;
}

export const createStore = (now: () => number): Store => {
  const ticks = createTickSource(now);
  const changes = createChangeLog();
  const open = new Set<StoreTransaction>();
  /** Records with more than one state, to be thinned out when the transactions that need them are over. */
  const withHistory = new Set<StoredRecord>();
  let lastRecordId = 0;

  const forget = (record: StoredRecord, document: Document | undefined): void => {
    if (document === undefined) return;
    for (const index of record.collection.indexes.values()) index.forget(record, document);
  };

  /** Drops the versions that no open transaction can see. */
  const prune = (record: StoredRecord): void => {
    const oldest = Math.min(...[...open].map(({ snapshot }) => snapshot), latest);
    const firstNeeded = record.versions.findLastIndex(({ tick }) => tick <= oldest);
    const dropped = record.versions.slice(0, Math.max(0, firstNeeded));
    record.versions = record.versions.slice(Math.max(0, firstNeeded));
    for (const { document } of dropped) forget(record, document);
    const isGone =
      record.versions.every(({ document }) => document === undefined) && record.pending === undefined;
    if (isGone && (newestVersion(record)?.tick ?? 0) <= oldest) {
      record.collection.records.delete(record.id);
      withHistory.delete(record);
    } else if (record.versions.length > 1 || isGone) withHistory.add(record);
    else withHistory.delete(record);
  };

  const finish = (transaction: StoreTransaction, isCommit: boolean): void => {
    open.delete(transaction);
    for (const listener of transaction.onEnd) listener(isCommit);
    for (const record of [...withHistory, ...transaction.records]) prune(record);
    transaction.end();
  };

  const addVersion = (record: StoredRecord, tick: Tick, document: Document | undefined): void => {
    record.versions = [...record.versions, { tick, document }];
    prune(record);
  };

  const checkRecord = (record: StoredRecord, transaction: StoreTransaction | undefined): void => {
    const { pending } = record;
    if (pending !== undefined && pending.transaction !== transaction) {
      if (transaction !== undefined) throw writeConflict();
      throw new HeldByTransaction(pending.transaction);
    }
    const newest = newestVersion(record);
    if (transaction !== undefined && newest !== undefined && newest.tick > transaction.snapshot)
      throw writeConflict();
  };

  const write = (
    record: StoredRecord,
    document: Document | undefined,
    change: Change,
    transaction: StoreTransaction | undefined,
  ): void => {
    const { collection } = record;
    if (document !== undefined) {
      checkUniqueKeys(collection, record, document, transaction);
      // A document that cannot be indexed must leave no trace.
      for (const index of collection.indexes.values()) index.keysOf(document);
    }
    collection.records.set(record.id, record);
    if (transaction === undefined) {
      const tick = ticks.next();
      if (document !== undefined)
        for (const index of collection.indexes.values()) index.add(record, document);
      addVersion(record, tick, document);
      changes.append(tick, [change]);
      return;
    }
    const before = record.pending?.document;
    record.pending = { transaction, document };
    if (document !== undefined) for (const index of collection.indexes.values()) index.add(record, document);
    forget(record, before);
    transaction.records.add(record);
    transaction.changes.push(change);
  };

  const changeOf = (
    { database, name }: Collection,
    operation: Change["operation"],
    before: Document | undefined,
    after: Document | undefined,
  ): Change => ({ operation, database, collection: name, before, after, wallTime: new Date(now()) });

  const view = (transaction: StoreTransaction | undefined): View => ({
    transaction,
    at: transaction?.snapshot ?? latest,
  });

  return {
    changes,
    time: ticks.last,
    now: () => new Date(now()),
    view,
    transactions: () => open,
    begin: () => {
      const transaction = createStoreTransaction(ticks.last());
      open.add(transaction);
      return transaction;
    },
    commit: (transaction) => {
      if (transaction.records.size > 0) {
        const tick = ticks.next();
        for (const record of transaction.records) {
          const document = record.pending?.document;
          record.pending = undefined;
          record.versions = [...record.versions, { tick, document }];
        }
        changes.append(tick, transaction.changes);
      }
      finish(transaction, true);
    },
    abort: (transaction) => {
      for (const record of transaction.records) {
        const document = record.pending?.document;
        record.pending = undefined;
        forget(record, document);
      }
      finish(transaction, false);
    },
    insert: (collection, document, transaction) => {
      const record: StoredRecord = { id: ++lastRecordId, collection, versions: [], pending: undefined };
      write(record, document, changeOf(collection, "insert", undefined, document), transaction);
    },
    replace: (record, document, operation, transaction) => {
      checkRecord(record, transaction);
      const before =
        transaction !== undefined && record.pending !== undefined
          ? record.pending.document
          : newestVersion(record)?.document;
      write(record, document, changeOf(record.collection, operation, before, document), transaction);
    },
    log: (change) => {
      changes.append(ticks.next(), [change]);
    },
  };
};
