import type { SqliteConnection } from "./connection.ts";

// How long SQLite itself waits for a lock, which blocks the process. It is enough for the usual wait, another process's
// single commit; the rest is left to timers.
const busyTimeoutMs = 5;

/**
 * Readers that do not hinder the writer, and commits that are on the disk when they return: without FULL, a power
 * failure takes back jobs that were already acknowledged.
 */
export const applySafeSettings = (db: SqliteConnection): void => {
  // First of all, so that the others wait for their locks, too.
  db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
};
