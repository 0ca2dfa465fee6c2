import type { Tables } from "../database/tables.ts";

// For types with `agePriorityMs` the column `priority` has not what was asked for, which is in `base_priority`, but a place in
// line that goes by the time at which the job is due. The function knows the rule.

/** The place in line of a job `j` that is due at another moment than before. */
export const newPlaceSql = ({ schema }: Tables, dueAt: string): string =>
  `CASE WHEN j.base_priority IS NULL OR (j.ordered IS NOT NULL AND j.lease_version > 0) THEN j.priority
    ELSE ${schema}.flow_rank(j.queue, coalesce(j.home, j.lane), j.base_priority, ${dueAt}) END`;
