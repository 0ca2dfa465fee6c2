import type { Document } from "mongodb";
import type { Collections } from "./collections.ts";
import { StandaloneServerError } from "./errors.ts";
import { jobIndexes } from "./indexes.ts";

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
