import type { Tables } from "../database/tables.ts";

// Where `base_priority` is not null, it has the priority that was asked for, and `priority` the place in the group.

/** The place in line of a job `j` that is due at another moment than before. */
export const newPlaceSql = ({ schema }: Tables, dueAt: string): string =>
  `CASE WHEN j.base_priority IS NULL OR (j.ordered IS NOT NULL AND j.lease_version > 0) THEN j.priority
    ELSE ${schema}.flow_rank(j.queue, coalesce(j.home, j.lane), j.base_priority, ${dueAt}) END`;
