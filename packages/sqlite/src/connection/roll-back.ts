import type { SqliteConnection } from "./connection.ts";

/** Ends a transaction after an error, which the caller reports. Some errors have ended the transaction already. */
export const rollBackAfter = (db: SqliteConnection): void => {
  try {
    db.exec("ROLLBACK");
  } catch {
    // The error had already ended the transaction.
  }
};
