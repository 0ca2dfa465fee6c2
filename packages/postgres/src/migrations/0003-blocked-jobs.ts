import type { Migration } from "./migration.ts";

/** For counting blocked jobs; a job that is never blocked does not touch it. */
export const blockedJobs: Migration = {
  version: 3,
  name: "blocked-jobs",
  outsideTransaction: true,
  statements: ({ schema, job }) => [
    // What an interrupted attempt left behind is not valid, and would count as being there.
    `DROP INDEX CONCURRENTLY IF EXISTS ${schema}.job_blocked`,
    `CREATE INDEX CONCURRENTLY job_blocked ON ${job} (lane) WHERE status = 'blocked'`,
  ],
};
