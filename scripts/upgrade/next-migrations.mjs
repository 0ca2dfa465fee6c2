// The migrations of a version that does not exist, one list for each store: a nullable column, an index and, in PostgreSQL, a
// replaced function. Tests of the migrations and upgrade.mjs put them after the released ones.

/** A new body with the same effect. */
const replaceFunction = (name) => `DO $replace$ BEGIN
  EXECUTE regexp_replace(pg_get_functiondef('${name}'::regproc), '\\nBEGIN\\n', E'\\nBEGIN\\n  -- replaced\\n');
END $replace$`;

export const nextMigrations = {
  postgres: [
    {
      version: 2,
      name: "next",
      statements: ({ schema, job }) => [
        `ALTER TABLE ${job} ADD COLUMN IF NOT EXISTS next_column bigint`,
        replaceFunction(`${schema}.limit_claim`),
      ],
    },
    {
      version: 3,
      name: "next-index",
      outsideTransaction: true,
      statements: ({ schema, job }) => [
        // An interrupted build leaves an index that is not valid and keeps its name.
        `DROP INDEX CONCURRENTLY IF EXISTS ${schema}.job_next`,
        `CREATE INDEX CONCURRENTLY job_next ON ${job} (created_at, next_column)`,
      ],
    },
  ],
  sqlite: [
    {
      version: 2,
      name: "next",
      statements: ({ job }) => [
        `ALTER TABLE ${job} ADD COLUMN next_column INTEGER`,
        `CREATE INDEX leasehold_job_next ON ${job} (created_at, next_column)`,
      ],
    },
  ],
};
