import type { ClientSession, MongoError } from "mongodb";

const tries = 3;

/** Not by its class: a client of another copy of the driver, such as Mongoose may bring, has classes of its own. */
const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof Error &&
  (error as Partial<MongoError>).hasErrorLabel?.("UnknownTransactionCommitResult") === true;

/** A commit may be repeated: one that went through before succeeds again. */
export const commit = async (session: ClientSession): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await session.commitTransaction();
      return;
    } catch (error) {
      if (!isOutcomeUnknown(error) || attempt >= tries) throw error;
    }
  }
};
