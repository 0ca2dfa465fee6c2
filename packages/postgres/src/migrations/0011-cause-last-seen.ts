import type { Migration } from "./migration.ts";

/**
 * So that causes can be forgotten that do not come up any more. Workers of an older version leave `last_seen_at` null: then it
 * was first seen when it was last seen, as far as anybody knows.
 */
export const causeLastSeen: Migration = {
  version: 11,
  name: "cause-last-seen",
  statements: ({ cause }) => [
    `ALTER TABLE ${cause} ADD COLUMN IF NOT EXISTS last_seen_at bigint`,
    `CREATE INDEX IF NOT EXISTS cause_last_seen ON ${cause} (coalesce(last_seen_at, first_seen_at))`,
  ],
};
