import type { Tables } from "../tables.ts";

/**
 * `expire_after_ms` is null for jobs that wait for ever, and `replaced_by` for jobs with the input of their own start. Such
 * jobs are in neither index.
 */
export const addWaitingColumns = (
  { job, expiringIndex, replacedIndex }: Tables,
  idType: string,
): string[] => [
  `ALTER TABLE ${job} ADD COLUMN expire_after_ms INTEGER`,
  `ALTER TABLE ${job} ADD COLUMN replaced_by ${idType}`,
  `CREATE INDEX ${expiringIndex} ON ${job} (scheduled_at + expire_after_ms)
  WHERE expire_after_ms IS NOT NULL AND status = 'pending' AND attempt = 0`,
  `CREATE INDEX ${replacedIndex} ON ${job} (replaced_by) WHERE replaced_by IS NOT NULL`,
];
