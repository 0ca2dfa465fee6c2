import type { Migration } from "./migration.ts";

/** For the jobs that can expire, and for those whose place another start has taken. No other job is in these. */
export const waitingJobIndexes: Migration = {
  version: 6,
  name: "waiting-job-indexes",
  outsideTransaction: true,
  statements: ({ schema, job }) => [
    // What an interrupted attempt left behind is not valid, and would count as being there.
    `DROP INDEX CONCURRENTLY IF EXISTS ${schema}.job_expiring`,
    `CREATE INDEX CONCURRENTLY job_expiring ON ${job} ((scheduled_at + expire_after_ms))
      WHERE expire_after_ms IS NOT NULL AND status = 'pending' AND attempt = 0`,
    `DROP INDEX CONCURRENTLY IF EXISTS ${schema}.job_replaced`,
    `CREATE INDEX CONCURRENTLY job_replaced ON ${job} (replaced_by) WHERE replaced_by IS NOT NULL`,
  ],
};
