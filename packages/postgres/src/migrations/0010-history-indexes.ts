import type { Migration } from "./migration.ts";

/** For failed jobs by what they failed from. A job that does not fail from an error of its handler does not touch it. */
export const historyIndexes: Migration = {
  version: 10,
  name: "history-indexes",
  outsideTransaction: true,
  statements: ({ schema, job }) => [
    // What an interrupted attempt left behind is not valid, and would count as being there.
    `DROP INDEX CONCURRENTLY IF EXISTS ${schema}.job_fingerprint`,
    `CREATE INDEX CONCURRENTLY job_fingerprint ON ${job}
      (fingerprint, id) WHERE status = 'failed' AND fingerprint IS NOT NULL`,
  ],
};
