import { CommandError } from "../errors.ts";
import { compareValues } from "../bson-values/compare.ts";
import type { Collection } from "../storage/collection.ts";
import { createCollectionIndex } from "../storage/collection-index.ts";
import type { IndexDefinition } from "../storage/collection-index.ts";
import { documentsOf, newestVersion } from "../storage/records.ts";
import { duplicateKey } from "../storage/unique-keys.ts";
import type { Command } from "./command.ts";
import { untilUnused } from "./catalog-lock.ts";
import { collectionName, documentList } from "./fields.ts";
import { parseIndexDefinition } from "./index-definition.ts";
import { whenFree } from "./write-batch.ts";

/** Whether the same index is there already; a similar one is an error. */
const exists = (collection: Collection, wanted: IndexDefinition): boolean => {
  for (const { definition } of collection.indexes.values()) {
    const sameKey = compareValues(definition.spec["key"], wanted.spec["key"]) === 0;
    const sameOptions = compareValues({ ...definition.spec, name: "" }, { ...wanted.spec, name: "" }) === 0;
    if (definition.name === wanted.name) {
      if (sameOptions || (sameKey && definition.name === "_id_")) return true;
      throw new CommandError(
        "IndexKeySpecsConflict",
        `An existing index has the same name as the requested index: ${wanted.name}`,
      );
    }
    if (sameKey && sameOptions) {
      throw new CommandError(
        "IndexOptionsConflict",
        `Index already exists with a different name: ${definition.name}`,
      );
    }
  }
  return false;
};

const build = (collection: Collection, definition: IndexDefinition): void => {
  const index = createCollectionIndex(definition);
  for (const record of collection.records.values()) {
    for (const document of documentsOf(record)) index.add(record, document);
    const document = newestVersion(record)?.document;
    if (!definition.unique || document === undefined) continue;
    for (const key of index.keysOf(document)) {
      const position = index.entries.partition((entry) => index.compareKeys(entry.key, key) < 0);
      const other = index.entries.at(position)?.record;
      if (other !== undefined && other !== record) throw duplicateKey(collection, index, key);
    }
  }
  collection.indexes.set(definition.name, index);
};

export const createIndexes: Command = {
  kind: "write",
  inTransactions: true,
  fields: ["indexes", "commitQuorum"],
  run: async (context) => {
    const { server, database, command, transaction } = context;
    const name = collectionName(context);
    const definitions = documentList(command, "indexes").map((spec) => parseIndexDefinition(spec));
    const existing = server.catalog.find(database, name, transaction);
    const collection =
      existing ?? (await whenFree(context, () => server.catalog.open(database, name, transaction)));
    const numIndexesBefore = collection.indexes.size;
    if (transaction !== undefined && !server.catalog.isNewIn(collection, transaction)) {
      if (definitions.every((definition) => exists(collection, definition))) {
        return {
          numIndexesBefore,
          numIndexesAfter: numIndexesBefore,
          note: "all indexes already exist",
          ok: 1,
        };
      }
      throw new CommandError(
        "OperationNotSupportedInTransaction",
        "Cannot create new indexes on an existing collection in a transaction",
      );
    }
    if (transaction === undefined) await untilUnused(context, collection);
    for (const definition of definitions) if (!exists(collection, definition)) build(collection, definition);
    return {
      numIndexesBefore,
      numIndexesAfter: collection.indexes.size,
      createdCollectionAutomatically: existing === undefined,
      ...(numIndexesBefore === collection.indexes.size ? { note: "all indexes already exist" } : {}),
      ok: 1,
    };
  },
};
