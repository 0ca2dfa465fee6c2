import type { StateJob } from "leasehold/adapter";
import { inSession } from "../database/collections.ts";
import { isDuplicateKey, lostToOthers } from "../database/errors.ts";
import type { Work } from "../database/transactions.ts";

// The length keeps a type name that ends like another's key begins apart from it.
export const keyId = (sequenceTypeName: string, key: string): string =>
  `${sequenceTypeName.length}:${sequenceTypeName}${key}`;

/** Writes to the documents of the keys: of transactions that decide about one key, only one can commit. */
export const lockKeys = async (
  { collections: { keys }, session }: Pick<Work, "collections" | "session">,
  ids: Iterable<string>,
): Promise<void> => {
  for (const _id of [...new Set(ids)].sort()) {
    try {
      await keys.updateOne({ _id }, { $inc: { touched: 1 } }, { ...inSession(session), upsert: true });
    } catch (error) {
      // Another transaction has made the document since this one began: a conflict like any other.
      throw isDuplicateKey(error) ? lostToOthers(error) : error;
    }
  }
};

/** Removes the documents of keys whose last sequence is among the jobs that were removed. */
export const dropUnusedKeys = async (work: Work, removed: readonly StateJob[]): Promise<void> => {
  const { collections, session } = work;
  for (const { sequenceTypeName, deduplicationKey } of removed) {
    if (deduplicationKey === null) continue;
    const filter = {
      sequenceTypeName: { $eq: sequenceTypeName },
      deduplicationKey: { $eq: deduplicationKey },
    };
    const options = { ...inSession(session), projection: { _id: 1 } } as const;
    if ((await collections.jobs.findOne(filter, options)) !== null) continue;
    await collections.keys.deleteOne({ _id: keyId(sequenceTypeName, deduplicationKey) }, inSession(session));
  }
};
