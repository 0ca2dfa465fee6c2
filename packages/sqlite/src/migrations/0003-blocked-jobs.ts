import type { Tables } from "../tables.ts";

/** For counting blocked jobs; a job that is never blocked does not touch it. */
export const indexBlockedJobs = ({ job, blockedIndex }: Tables): string[] => [
  `CREATE INDEX ${blockedIndex} ON ${job} (queue, type_name) WHERE status = 'blocked'`,
];
