import type { Tables } from "../tables.ts";

/**
 * `last_failed_at` is written by attempts that fail, never by a completion. `max_attempts_given` is null where the
 * number of attempts was asked for, as in every older row, and 0 where it is a default.
 */
export const addAttemptColumns = ({ job }: Tables): string[] => [
  `ALTER TABLE ${job} ADD COLUMN last_failed_at INTEGER`,
  `ALTER TABLE ${job} ADD COLUMN max_attempts_given INTEGER`,
];
