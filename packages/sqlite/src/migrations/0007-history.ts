import type { Tables } from "../tables.ts";

/**
 * What has happened. Large texts stand last.
 *
 * The indexes do not depend on `status`, as that of lines does not: a job that does not fail can change its status without a
 * look at them. A failure and a redrive write them, a completion never does. That of causes has all that counting them needs. A
 * look at the row would have to read its large texts, since the fingerprint comes after them.
 *
 * A trigger takes away the attempts of a job that goes. So they also go when a version of this package deletes the job that
 * knows nothing of attempts.
 */
export const addHistory = (
  {
    job,
    attempt,
    attemptTrigger,
    reporter,
    rollup,
    cause,
    action,
    actionIndex,
    fingerprintIndex,
    causeIndex,
  }: Tables,
  idType: string,
): string[] => [
  `ALTER TABLE ${job} ADD COLUMN fingerprint TEXT`,
  `CREATE INDEX ${fingerprintIndex} ON ${job} (fingerprint, created_at) WHERE fingerprint IS NOT NULL`,
  `CREATE INDEX ${causeIndex} ON ${job} (id, queue, type_name, failure_reason, failed_at, fingerprint)
  WHERE failed_at IS NOT NULL`,
  `CREATE TABLE ${attempt} (
  job_id ${idType} NOT NULL,
  lease_version INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  deployment TEXT,
  due_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  fingerprint TEXT,
  error TEXT,
  log TEXT,
  PRIMARY KEY (job_id, lease_version)
) WITHOUT ROWID`,
  `CREATE TRIGGER ${attemptTrigger} AFTER DELETE ON ${job} BEGIN
  DELETE FROM ${attempt} WHERE job_id = OLD.id;
END`,
  `CREATE TABLE ${reporter} (
  id TEXT NOT NULL PRIMARY KEY,
  deployment TEXT,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  about TEXT NOT NULL
)`,
  `CREATE TABLE ${rollup} (
  width INTEGER NOT NULL,
  starts_at INTEGER NOT NULL,
  queue TEXT NOT NULL,
  type_name TEXT NOT NULL,
  deployment TEXT NOT NULL,
  reporter_id TEXT NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (width, starts_at, queue, type_name, deployment, reporter_id)
) WITHOUT ROWID`,
  `CREATE TABLE ${cause} (
  fingerprint TEXT NOT NULL PRIMARY KEY,
  first_seen_at INTEGER NOT NULL,
  deployment TEXT,
  name TEXT NOT NULL,
  frame TEXT,
  message TEXT NOT NULL
) WITHOUT ROWID`,
  `CREATE TABLE ${action} (
  id TEXT NOT NULL PRIMARY KEY,
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  changed_at INTEGER,
  plan TEXT NOT NULL,
  result TEXT
)`,
  `CREATE INDEX ${actionIndex} ON ${action} (started_at, id)`,
];
