import { CommandError } from "../errors.ts";
import type { Document } from "../bson-values/types.ts";
import type { Collection } from "./collection.ts";
import { namespaceOf } from "./collection.ts";
import type { CollectionIndex, IndexEntry } from "./collection-index.ts";
import type { IndexKey } from "./index-keys.ts";
import { newestVersion, visibleDocument } from "./records.ts";
import type { StoredRecord } from "./records.ts";
import { HeldByTransaction } from "./transaction.ts";
import type { StoreTransaction } from "./transaction.ts";
import { latest } from "./ticks.ts";
import { writeConflict } from "./write-conflict.ts";

export const duplicateKey = (
  collection: Collection,
  { definition }: CollectionIndex,
  key: IndexKey,
): CommandError => {
  const keyValue = Object.fromEntries(definition.fields.map(({ path }, i) => [path, key[i] ?? null]));
  return new CommandError(
    "DuplicateKey",
    `E11000 duplicate key error collection: ${namespaceOf(collection)} index: ${definition.name} dup key: ${JSON.stringify(keyValue)}`,
    { keyPattern: definition.spec["key"], keyValue },
  );
};

/** The entries of one key, of whatever age. */
export function* entriesWithKey(index: CollectionIndex, key: IndexKey): Generator<IndexEntry> {
  let position = index.entries.partition((entry) => index.compareKeys(entry.key, key) < 0);
  for (;;) {
    const entry = index.entries.at(position);
    if (entry === undefined || index.compareKeys(entry.key, key) !== 0) return;
    yield entry;
    position = index.entries.step(position, 1);
  }
}

const checkAgainst = (
  collection: Collection,
  index: CollectionIndex,
  key: IndexKey,
  other: StoredRecord,
  transaction: StoreTransaction | undefined,
): void => {
  const has = (document: Document | undefined) => document !== undefined && index.hasKey(document, key);
  const visible = visibleDocument(other, { transaction, at: transaction?.snapshot ?? latest });
  const newest = newestVersion(other)?.document;
  const { pending } = other;
  if (
    pending !== undefined &&
    pending.transaction !== transaction &&
    (has(pending.document) || has(newest))
  ) {
    if (transaction !== undefined) throw writeConflict();
    throw new HeldByTransaction(pending.transaction);
  }
  if (has(visible)) throw duplicateKey(collection, index, key);
  // Committed after the snapshot: the transaction cannot see it, and must not write beside it.
  if (transaction !== undefined && pending === undefined && has(newest)) throw writeConflict();
};

/** Refuses a document whose key in a unique index is another's, or would be if an open transaction commits or aborts. */
export const checkUniqueKeys = (
  collection: Collection,
  record: StoredRecord | undefined,
  document: Document,
  transaction: StoreTransaction | undefined,
): void => {
  for (const index of collection.indexes.values()) {
    if (!index.definition.unique) continue;
    for (const key of index.keysOf(document)) {
      for (const entry of entriesWithKey(index, key)) {
        if (entry.record !== record) checkAgainst(collection, index, key, entry.record, transaction);
      }
    }
  }
};
