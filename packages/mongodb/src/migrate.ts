import type { Collection, Document, IndexDescription } from "mongodb";
import { type Collections, jobIndexes, recurringIndexes } from "./database/collections.ts";
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
  await collections.recurring.createIndexes([...recurringIndexes]);
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

const indexNames = async (collection: Pick<Collection, "indexes">): Promise<ReadonlySet<string>> => {
  try {
    return new Set((await collection.indexes()).map(({ name }) => String(name)));
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === namespaceNotFound) return new Set();
    throw error;
  }
};

const inShell = (collection: string, { key, ...options }: IndexDescription): string =>
  `db.getCollection(${JSON.stringify(collection)}).createIndex(${JSON.stringify(key)}, ${JSON.stringify(options)});\n`;

export const migrationStatus = async ({ jobs, recurring }: Collections): Promise<MongoMigrationStatus> => {
  const wanted = [
    { collection: jobs, indexes: jobIndexes, found: await indexNames(jobs) },
    { collection: recurring, indexes: recurringIndexes, found: await indexNames(recurring) },
  ];
  const steps = wanted
    .flatMap(({ collection: { collectionName }, indexes, found }) =>
      indexes.map((index) => ({ collectionName, index, isThere: found.has(index.name!) })),
    )
    .map((step, position) => ({ ...step, version: position + 1, name: `index ${step.index.name!}` }));
  return {
    applied: steps.filter(({ isThere }) => isThere).map(({ version, name }) => ({ version, name })),
    pending: steps
      .filter(({ isThere }) => !isThere)
      .map(({ version, name, collectionName, index }) => ({
        version,
        name,
        sql: inShell(collectionName, index),
      })),
  };
};
