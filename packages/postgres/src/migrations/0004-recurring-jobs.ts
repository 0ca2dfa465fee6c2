import type { Migration } from "./migration.ts";

/**
 * `recurrence` is null in every job that no recurring job has started. The table changes at every tick, and is small: vacuum
 * has to come often, or its dead rows outnumber the living ones.
 */
export const recurringJobs: Migration = {
  version: 4,
  name: "recurring-jobs",
  statements: ({ job, recurring, idType }) => [
    `ALTER TABLE ${job} ADD COLUMN IF NOT EXISTS recurrence text COLLATE "C"`,
    `CREATE TABLE IF NOT EXISTS ${recurring} (
  id text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C",
  paused boolean NOT NULL,
  version int NOT NULL,
  next_nominal_at bigint,
  fire_at bigint,
  last_sequence_id ${idType},
  zone_data text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  record text COLLATE "C" NOT NULL,
  definition text COLLATE "C" NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)`,
    `CREATE INDEX IF NOT EXISTS recurring_job_due ON ${recurring} (fire_at) WHERE NOT paused`,
  ],
};
