import { CommandError } from "../errors.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import { parseFilter } from "../query/parse.ts";
import { createCollection } from "./collection.ts";
import type { Collection } from "./collection.ts";
import { HeldByTransaction } from "./transaction.ts";
import type { StoreTransaction } from "./transaction.ts";
import { writeConflict } from "./write-conflict.ts";

/** The databases and their collections. A collection made in a transaction is there for others after its commit. */
export interface Catalog {
  databases(): string[];
  collections(database: string, transaction?: StoreTransaction): Collection[];
  find(database: string, name: string, transaction: StoreTransaction | undefined): Collection | undefined;
  /** Makes the collection if it is not there. */
  open(database: string, name: string, transaction: StoreTransaction | undefined): Collection;
  create(
    database: string,
    name: string,
    options: Document,
    transaction: StoreTransaction | undefined,
  ): Collection;
  remove(collection: Collection): void;
  /** Whether the collection was made in this transaction. */
  isNewIn(collection: Collection, transaction: StoreTransaction): boolean;
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
  const makers = new Map<Collection, StoreTransaction>();

  const isVisible = (collection: Collection, transaction: StoreTransaction | undefined): boolean => {
    const maker = makers.get(collection);
    return maker === undefined || maker === transaction;
  };

  const find = (database: string, name: string, transaction: StoreTransaction | undefined) => {
    const collection = databases.get(database)?.get(name);
    return collection !== undefined && isVisible(collection, transaction) ? collection : undefined;
  };

  const remove = ({ database, name }: Collection): void => {
    const collections = databases.get(database);
    collections?.delete(name);
    if (collections?.size === 0) databases.delete(database);
  };

  const makeIn = (collection: Collection, transaction: StoreTransaction): void => {
    makers.set(collection, transaction);
    transaction.onEnd.push((isCommit) => {
      makers.delete(collection);
      if (!isCommit) remove(collection);
    });
  };

  const create = (
    database: string,
    name: string,
    options: Document,
    transaction: StoreTransaction | undefined,
  ): Collection => {
    checkName(name);
    const hidden = databases.get(database)?.get(name);
    const maker = hidden === undefined ? undefined : makers.get(hidden);
    if (maker !== undefined) throw transaction === undefined ? new HeldByTransaction(maker) : writeConflict();
    const validator = isDocument(options["validator"]) ? parseFilter(options["validator"]) : undefined;
    const collection = createCollection(database, name, options, validator);
    const collections = databases.get(database) ?? new Map<string, Collection>();
    databases.set(database, collections.set(name, collection));
    if (transaction !== undefined) makeIn(collection, transaction);
    return collection;
  };

  return {
    databases: () => [...databases.keys()],
    collections: (database, transaction) =>
      [...(databases.get(database)?.values() ?? [])].filter((collection) =>
        isVisible(collection, transaction),
      ),
    find,
    open: (database, name, transaction) =>
      find(database, name, transaction) ?? create(database, name, {}, transaction),
    create,
    remove,
    isNewIn: (collection, transaction) => makers.get(collection) === transaction,
  };
};
