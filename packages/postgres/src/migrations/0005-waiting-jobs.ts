import type { Migration } from "./migration.ts";

/** `expire_after_ms` is null for jobs that wait for ever, and `replaced_by` for jobs with the input of their own start. */
export const waitingJobs: Migration = {
  version: 5,
  name: "waiting-jobs",
  statements: ({ job, idType }) => [
    `ALTER TABLE ${job} ADD COLUMN IF NOT EXISTS expire_after_ms bigint,
      ADD COLUMN IF NOT EXISTS replaced_by ${idType}`,
  ],
};
