import type { Tables } from "../tables.ts";

/**
 * So that causes can be forgotten that do not come up any more. An older version of this package leaves `last_seen_at` null: then
 * it was first seen when it was last seen, as far as anybody knows.
 */
export const addCauseLastSeen = ({ cause, causeLastSeenIndex }: Tables): string[] => [
  `ALTER TABLE ${cause} ADD COLUMN last_seen_at INTEGER`,
  `CREATE INDEX ${causeLastSeenIndex} ON ${cause} (coalesce(last_seen_at, first_seen_at))`,
];
