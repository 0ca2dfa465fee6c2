import type { SqliteConnection } from "./connection.ts";

/** Ends a transaction after an error. What is reported is that error: some already end the transaction themselves. */
export const rollBackAfter = (db: SqliteConnection): void => {
  try {
    db.exec("ROLLBACK");
  } catch {
    // There was none left to roll back.
  }
};
