import { statSync } from "node:fs";
import type { SqliteConnection } from "./connection.ts";

/** Keeps the write-ahead log from growing. To be called after every commit. */
export type AfterCommit = () => void;

// SQLite copies the log into the database after every thousand pages, and then writes it from the start again. It cannot
// start over while somebody reads, so under many readers the log grows. This checkpoint then waits for a gap between them.
const commitsBetweenLooks = 64;
const pauseAfterFailureMs = 1_000;

export interface CheckpointsOptions {
  readonly db: SqliteConnection;
  readonly file: string;
  readonly maxWalBytes: number;
}

export const createCheckpoints = ({ db, file, maxWalBytes }: CheckpointsOptions): AfterCommit => {
  let commits = 0;
  let notBefore = 0;

  const isTooLarge = (): boolean =>
    (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > maxWalBytes;

  return () => {
    commits += 1;
    if (commits % commitsBetweenLooks !== 0 || performance.now() < notBefore) return;
    try {
      if (!isTooLarge() || db.first("PRAGMA wal_checkpoint(TRUNCATE)", [])?.[0] === 0) return;
    } catch {
      // The commit has succeeded in any case. If the disk is broken, the next commit will fail.
    }
    // Somebody still reads from the log. Retrying at once would only delay all writes.
    notBefore = performance.now() + pauseAfterFailureMs;
  };
};
