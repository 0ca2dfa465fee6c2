import { UUID } from "bson";
import type { Document } from "../bson-values/types.ts";
import type { Filter } from "../query/filter.ts";
import { createCollectionIndex } from "./collection-index.ts";
import type { CollectionIndex } from "./collection-index.ts";
import type { StoredRecord } from "./records.ts";

export interface Collection {
  readonly database: string;
  readonly name: string;
  readonly uuid: UUID;
  readonly options: Document;
  readonly validator: Filter | undefined;
  /** In the order of insertion. */
  readonly records: Map<number, StoredRecord>;
  /** By name; `_id_` comes first. */
  readonly indexes: Map<string, CollectionIndex>;
}

export const namespaceOf = ({ database, name }: Collection): string => `${database}.${name}`;

export const createCollection = (
  database: string,
  name: string,
  options: Document,
  validator: Filter | undefined,
): Collection => ({
  database,
  name,
  uuid: new UUID(),
  options,
  validator,
  records: new Map(),
  indexes: new Map([
    [
      "_id_",
      createCollectionIndex({
        name: "_id_",
        fields: [{ path: "_id", direction: 1 }],
        unique: true,
        sparse: false,
        partial: undefined,
        spec: { v: 2, key: { _id: 1 }, name: "_id_" },
      }),
    ],
  ]),
});
