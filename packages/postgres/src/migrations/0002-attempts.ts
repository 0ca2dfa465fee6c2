import type { Migration } from "./migration.ts";

/**
 * `last_failed_at` is written by attempts that fail, never by a completion. `max_attempts_given` is null where the
 * number of attempts was asked for, as in every older row, and false where it is a default.
 */
export const attempts: Migration = {
  version: 2,
  name: "attempts",
  statements: ({ job }) => [
    `ALTER TABLE ${job} ADD COLUMN IF NOT EXISTS last_failed_at bigint,
      ADD COLUMN IF NOT EXISTS max_attempts_given boolean`,
  ],
};
