import type { Tables } from "../tables.ts";

/** `recurrence` is null in every job that no recurring job has started. Large texts stand last. */
export const addRecurringJobs = ({ job, recurring, recurringDueIndex }: Tables, idType: string): string[] => [
  `ALTER TABLE ${job} ADD COLUMN recurrence TEXT`,
  `CREATE TABLE ${recurring} (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT,
  paused INTEGER NOT NULL,
  version INTEGER NOT NULL,
  next_nominal_at INTEGER,
  fire_at INTEGER,
  last_sequence_id ${idType},
  zone_data TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  record TEXT NOT NULL,
  definition TEXT NOT NULL
)`,
  `CREATE INDEX ${recurringDueIndex} ON ${recurring} (fire_at) WHERE paused = 0`,
];
