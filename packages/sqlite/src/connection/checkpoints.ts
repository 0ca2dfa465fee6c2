import { statSync } from "node:fs";
import type { SqliteConnection } from "./connection.ts";

/** Keeps the write-ahead log from growing. To be told of every commit. */
export type AfterCommit = () => void;

// SQLite itself copies the log into the database every thousand pages and then writes it from the start again, as long as
// no reader is in the way at that moment. This steps in when there was one too often.
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
      // The commit has succeeded whatever becomes of this. A disk that is really broken shows at the next one.
    }
    // Somebody still reads from the log. Trying again at once would only hold up everybody's writes.
    notBefore = performance.now() + pauseAfterFailureMs;
  };
};
