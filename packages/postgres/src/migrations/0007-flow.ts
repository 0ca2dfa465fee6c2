import type { Migration } from "./migration.ts";

/** Groups and rules. A job that uses neither has null in all of these columns, and is not a byte longer. */
export const flow: Migration = {
  version: 7,
  name: "flow",
  statements: ({ job }) => [
    `ALTER TABLE ${job} ADD COLUMN IF NOT EXISTS group_key text COLLATE "C",
      ADD COLUMN IF NOT EXISTS ordered text COLLATE "C",
      ADD COLUMN IF NOT EXISTS slots smallint`,
  ],
};
