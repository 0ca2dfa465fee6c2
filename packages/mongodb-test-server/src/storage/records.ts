import type { Document } from "../bson-values/types.ts";
import type { Collection } from "./collection.ts";
import type { Tick } from "./ticks.ts";
import type { StoreTransaction } from "./transaction.ts";

/** A committed state of a record; without a document it is the deletion. */
export interface Version {
  readonly tick: Tick;
  readonly document: Document | undefined;
}

/**
 * A document through time: what was committed, oldest first, and at most one write that is not committed yet. Documents
 * are never changed in place.
 */
export interface StoredRecord {
  readonly id: number;
  readonly collection: Collection;
  versions: readonly Version[];
  pending: { readonly transaction: StoreTransaction; readonly document: Document | undefined } | undefined;
}

/** Who looks, and at which moment: a transaction sees its own writes and else what was committed before it began. */
export interface View {
  readonly transaction: StoreTransaction | undefined;
  readonly at: Tick;
}

export const visibleDocument = (record: StoredRecord, view: View): Document | undefined => {
  if (record.pending !== undefined && record.pending.transaction === view.transaction)
    return record.pending.document;
  for (let i = record.versions.length - 1; i >= 0; i--) {
    const version = record.versions[i];
    if (version !== undefined && version.tick <= view.at) return version.document;
  }
  return undefined;
};

export const newestVersion = (record: StoredRecord): Version | undefined => record.versions.at(-1);

/** All states that somebody may still see. */
export const documentsOf = (record: StoredRecord): Document[] =>
  [...record.versions.map(({ document }) => document), record.pending?.document].filter(
    (document) => document !== undefined,
  );
