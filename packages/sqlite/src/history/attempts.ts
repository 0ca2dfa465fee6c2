import { mostAttempts, type StateAttempt } from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

/** The attempts that did not complete their job. */
export interface Attempts {
  /** Inserts an attempt that has ended, and deletes the earliest of its job beyond the limit. */
  add(db: SqliteConnection, attempt: StateAttempt): void;
  /** The latest first. */
  list(db: SqliteConnection, jobIds: readonly string[]): StateAttempt[][];
}

const attemptRow = defineRow((columns): StateAttempt => ({
  jobId: columns.value("job_id"),
  leaseVersion: columns.value("lease_version"),
  attempt: columns.value("attempt"),
  outcome: columns.value("outcome"),
  workerId: columns.value("worker_id"),
  deployment: columns.value("deployment", null),
  dueAt: columns.value("due_at"),
  startedAt: columns.value("started_at"),
  endedAt: columns.value("ended_at"),
  fingerprint: columns.value("fingerprint", null),
  error: columns.value("error", null),
  log: columns.value("log", null),
}));

export const createAttempts = ({ attempt }: Tables): Attempts => {
  // The key should not exist. If it did, replacing it is better than failing the outcome.
  const insert = `INSERT OR REPLACE INTO ${attempt} (${attemptRow.columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const trim = `DELETE FROM ${attempt} WHERE job_id = ? AND lease_version <= (SELECT lease_version FROM ${attempt}
    WHERE job_id = ? ORDER BY lease_version DESC LIMIT 1 OFFSET ${mostAttempts})`;
  const find = `SELECT ${attemptRow.columns} FROM ${attempt} WHERE job_id = ? ORDER BY lease_version DESC`;

  return {
    add: (db, added) => {
      const { jobId, leaseVersion } = added;
      db.run(insert, [
        jobId,
        leaseVersion,
        added.attempt,
        added.outcome,
        added.workerId,
        added.deployment,
        added.dueAt,
        added.startedAt,
        added.endedAt,
        added.fingerprint,
        added.error,
        added.log,
      ]);
      // Lease versions count from 1, so earlier ones cannot exceed the limit.
      if (leaseVersion > mostAttempts) db.run(trim, [jobId, jobId]);
    },
    list: (db, jobIds) => jobIds.map((jobId) => attemptRow.all(db, find, [jobId])),
  };
};
