import { compareValues } from "../bson-values/compare.ts";
import type { Document } from "../bson-values/types.ts";
import type { Filter } from "../query/filter.ts";
import { matches } from "../query/matches.ts";
import type { SortPart } from "../query/sort-order.ts";
import { indexKeysOf } from "./index-keys.ts";
import type { DocumentKeys, IndexKey } from "./index-keys.ts";
import { createOrderedList } from "./ordered-list.ts";
import type { OrderedList } from "./ordered-list.ts";
import { documentsOf } from "./records.ts";
import type { StoredRecord } from "./records.ts";

export interface IndexEntry {
  readonly key: IndexKey;
  readonly record: StoredRecord;
}

export interface IndexDefinition {
  readonly name: string;
  readonly fields: readonly SortPart[];
  readonly unique: boolean;
  readonly sparse: boolean;
  readonly partial: Filter | undefined;
  /** As `listIndexes` tells it. */
  readonly spec: Document;
}

/**
 * The entries of all states of all records that anybody may still see: whoever reads an entry has to check that the state
 * visible to him has it.
 */
export interface CollectionIndex {
  readonly definition: IndexDefinition;
  readonly entries: OrderedList<IndexEntry>;
  isMultikey(): boolean;
  keysOf(document: Document): readonly IndexKey[];
  hasKey(document: Document, key: IndexKey): boolean;
  compareKeys(a: IndexKey, b: IndexKey): number;
  add(record: StoredRecord, document: Document): void;
  /** Takes out the entries of a state that nobody can see any more, unless another state has them too. */
  forget(record: StoredRecord, document: Document): void;
}

export const createCollectionIndex = (definition: IndexDefinition): CollectionIndex => {
  const { fields, partial, sparse } = definition;
  const paths = fields.map(({ path }) => path.split("."));
  const known = new WeakMap<Document, DocumentKeys>();
  let multikey = false;

  const compareKeys = (a: IndexKey, b: IndexKey): number => {
    for (const [i, { direction }] of fields.entries()) {
      const order = compareValues(a[i], b[i]);
      if (order !== 0) return direction * order;
    }
    return 0;
  };
  const entries = createOrderedList<IndexEntry>(
    (a, b) => compareKeys(a.key, b.key) || a.record.id - b.record.id,
  );
  const read = (document: Document): DocumentKeys => {
    let keys = known.get(document);
    if (keys === undefined) {
      const isIn = partial === undefined || matches(partial, document, {});
      keys = isIn ? indexKeysOf(document, paths, sparse) : { keys: [], isMultikey: false };
      known.set(document, keys);
    }
    return keys;
  };
  const hasKey = (document: Document, key: IndexKey): boolean =>
    read(document).keys.some((other) => other === key || compareKeys(other, key) === 0);

  return {
    definition,
    entries,
    isMultikey: () => multikey,
    keysOf: (document) => read(document).keys,
    hasKey,
    compareKeys,
    add: (record, document) => {
      const { keys, isMultikey } = read(document);
      multikey ||= isMultikey;
      for (const key of keys) entries.insert({ key, record });
    },
    forget: (record, document) => {
      const others = documentsOf(record);
      for (const key of read(document).keys) {
        if (!others.some((other) => hasKey(other, key))) entries.remove({ key, record });
      }
    },
  };
};
