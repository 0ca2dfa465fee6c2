import type { Migration } from "./migration.ts";

/** For jobs with a group that are not in line: those for later, by type; and those of ordered groups that wait for a retry. */
export const flowIndexes: Migration = {
  version: 8,
  name: "flow-indexes",
  outsideTransaction: true,
  statements: ({ schema, job }) => [
    `DROP INDEX CONCURRENTLY IF EXISTS ${schema}.job_deferred_home`,
    `CREATE INDEX CONCURRENTLY job_deferred_home ON ${job}
      (home, due_at) WHERE status = 'pending' AND NOT ready AND home IS NOT NULL`,
    `DROP INDEX CONCURRENTLY IF EXISTS ${schema}.job_retrying`,
    `CREATE INDEX CONCURRENTLY job_retrying ON ${job}
      (lane, due_at) WHERE ordered IS NOT NULL AND status = 'pending' AND NOT ready AND lease_version > 0`,
  ],
};
