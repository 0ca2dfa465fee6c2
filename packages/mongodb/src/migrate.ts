import type { Document, IndexDescription } from "mongodb";
import { type Collections, jobIndexes } from "./database/collections.ts";
import { StandaloneServerError } from "./database/errors.ts";

/** Only a replica set has transactions. */
const checkReplicaSet = async ({ jobs }: Collections): Promise<void> => {
  const hello: Document = await jobs.db.command({ hello: 1 });
  if (hello["setName"] === undefined && hello["msg"] !== "isdbgrid") throw new StandaloneServerError();
};

/** Makes what is missing. Safe to call again, from several processes at once, and while old workers run. */
export const migrateToLatest = async (collections: Collections): Promise<void> => {
  await checkReplicaSet(collections);
  await collections.jobs.createIndexes([...jobIndexes]);
  // A collection made within a transaction would make transactions conflict that have nothing to do with each other.
  await collections.keys.updateOne({ _id: "" }, { $setOnInsert: { touched: 0 } }, { upsert: true });
};

/** There are no versions: whatever is missing is made, in any order. Each index counts as one step. */
export interface MongoMigrationStatus {
  readonly applied: readonly { readonly version: number; readonly name: string }[];
  /** What `migrate` would make. `sql`, named as in the other stores, does the same in MongoDB's shell. */
  readonly pending: readonly { readonly version: number; readonly name: string; readonly sql: string }[];
}

const namespaceNotFound = 26;

const indexNames = async ({ jobs }: Collections): Promise<ReadonlySet<string>> => {
  try {
    return new Set((await jobs.indexes()).map(({ name }) => String(name)));
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === namespaceNotFound) return new Set();
    throw error;
  }
};

const inShell = (collection: string, { key, ...options }: IndexDescription): string =>
  `db.getCollection(${JSON.stringify(collection)}).createIndex(${JSON.stringify(key)}, ${JSON.stringify(options)});\n`;

export const migrationStatus = async (collections: Collections): Promise<MongoMigrationStatus> => {
  const found = await indexNames(collections);
  const { collectionName } = collections.jobs;
  const steps = jobIndexes.map((index, position) => ({ version: position + 1, name: index.name!, index }));
  return {
    applied: steps
      .filter(({ name }) => found.has(name))
      .map(({ version, name }) => ({ version, name: `index ${name}` })),
    pending: steps
      .filter(({ name }) => !found.has(name))
      .map(({ version, name, index }) => ({
        version,
        name: `index ${name}`,
        sql: inShell(collectionName, index),
      })),
  };
};
