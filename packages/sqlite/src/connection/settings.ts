import type { SqliteConnection } from "./connection.ts";

// How long SQLite waits for a lock. This blocks the process, so it is only as long as the commit of another process
// usually takes. Longer waits are left to timers.
const busyTimeoutMs = 5;

/**
 * WAL lets others read during a write. With FULL, a commit is on the disk when it returns: without it, a power failure could
 * lose jobs that were already acknowledged.
 */
export const applySafeSettings = (db: SqliteConnection): void => {
  // First, so that the other settings wait for their locks too.
  db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
};
