import { MongoError } from "mongodb";
import type { ClientSession } from "mongodb";

const tries = 3;

/** A commit may be repeated: one that went through before succeeds again. */
export const commit = async (session: ClientSession): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await session.commitTransaction();
      return;
    } catch (error) {
      const isUnknown = error instanceof MongoError && error.hasErrorLabel("UnknownTransactionCommitResult");
      if (!isUnknown || attempt >= tries) throw error;
    }
  }
};
