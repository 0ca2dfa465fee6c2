import { CommandError } from "../errors.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import { parseFilter } from "../query/parse.ts";
import { createCollection } from "./collection.ts";
import type { Collection } from "./collection.ts";

/** The databases and their collections. It has no versions: a collection made in a transaction stays if that aborts. */
export interface Catalog {
  databases(): string[];
  collections(database: string): Collection[];
  find(database: string, name: string): Collection | undefined;
  /** Makes the collection if it is not there. */
  open(database: string, name: string): Collection;
  create(database: string, name: string, options: Document): Collection;
  remove(collection: Collection): void;
}

const checkName = (name: string): void => {
  if (
    name === "" ||
    name.includes("$") ||
    name.includes("\0") ||
    name.startsWith(".") ||
    name.endsWith(".")
  ) {
    throw new CommandError("InvalidNamespace", `Invalid collection name: ${name}`);
  }
};

export const createCatalog = (): Catalog => {
  const databases = new Map<string, Map<string, Collection>>();
  const find = (database: string, name: string) => databases.get(database)?.get(name);

  const create = (database: string, name: string, options: Document): Collection => {
    checkName(name);
    const validator = isDocument(options["validator"]) ? parseFilter(options["validator"]) : undefined;
    const collection = createCollection(database, name, options, validator);
    const collections = databases.get(database) ?? new Map<string, Collection>();
    databases.set(database, collections.set(name, collection));
    return collection;
  };

  return {
    databases: () => [...databases.keys()],
    collections: (database) => [...(databases.get(database)?.values() ?? [])],
    find,
    open: (database, name) => find(database, name) ?? create(database, name, {}),
    create,
    remove: ({ database, name }) => {
      const collections = databases.get(database);
      collections?.delete(name);
      if (collections?.size === 0) databases.delete(database);
    },
  };
};
