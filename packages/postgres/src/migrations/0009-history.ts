import { historyFunctions } from "./history-functions.ts";
import type { Migration } from "./migration.ts";

/**
 * What has happened. Workers of an older version know nothing of these tables: they leave `fingerprint` as it is, and the
 * attempts of a job that they delete stay behind, where nobody looks for them.
 *
 * The rows of `reporter` and `rollup` are overwritten every second by those who own them. No index has a column that
 * changes, and the pages have room, so that a new version of a row stays on its page and touches no index. Vacuum comes by
 * count, since the tables are small and change much.
 */
export const history: Migration = {
  version: 9,
  name: "history",
  statements: (tables) => {
    const { job, jobAttempt, reporter, rollup, cause, action, idType } = tables;
    return [
      `ALTER TABLE ${job} ADD COLUMN IF NOT EXISTS fingerprint text COLLATE "C"`,
      `CREATE TABLE IF NOT EXISTS ${jobAttempt} (
      job_id ${idType} NOT NULL,
      due_at bigint NOT NULL,
      started_at bigint NOT NULL,
      ended_at bigint NOT NULL,
      lease_version integer NOT NULL,
      attempt integer NOT NULL,
      outcome text COLLATE "C" NOT NULL,
      worker_id text COLLATE "C" NOT NULL,
      deployment text COLLATE "C",
      fingerprint text COLLATE "C",
      error text COLLATE "C",
      log text COLLATE "C",
      CONSTRAINT job_attempt_pkey PRIMARY KEY (job_id, lease_version)
    ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000)`,
      `CREATE TABLE IF NOT EXISTS ${reporter} (
      started_at bigint NOT NULL,
      seen_at bigint NOT NULL,
      id text COLLATE "C" NOT NULL,
      deployment text COLLATE "C",
      about text COLLATE "C" NOT NULL,
      CONSTRAINT reporter_pkey PRIMARY KEY (id)
    ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)`,
      `CREATE TABLE IF NOT EXISTS ${rollup} (
      width bigint NOT NULL,
      begins_at bigint NOT NULL,
      queue text COLLATE "C" NOT NULL,
      type_name text COLLATE "C" NOT NULL,
      deployment text COLLATE "C" NOT NULL,
      reporter_id text COLLATE "C" NOT NULL,
      counts text COLLATE "C" NOT NULL,
      CONSTRAINT rollup_pkey PRIMARY KEY (width, begins_at, queue, type_name, deployment, reporter_id)
    ) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000)`,
      `CREATE TABLE IF NOT EXISTS ${cause} (
      first_seen_at bigint NOT NULL,
      fingerprint text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      message text COLLATE "C" NOT NULL,
      frame text COLLATE "C",
      deployment text COLLATE "C",
      CONSTRAINT cause_pkey PRIMARY KEY (fingerprint)
    )`,
      `CREATE TABLE IF NOT EXISTS ${action} (
      started_at bigint NOT NULL,
      changed_at bigint,
      id text COLLATE "C" NOT NULL,
      actor text COLLATE "C" NOT NULL,
      kind text COLLATE "C" NOT NULL,
      plan text COLLATE "C" NOT NULL,
      result text COLLATE "C",
      CONSTRAINT action_pkey PRIMARY KEY (id)
    )`,
      `CREATE INDEX IF NOT EXISTS action_started ON ${action} (started_at, id)`,
      ...historyFunctions(tables),
    ];
  },
};
