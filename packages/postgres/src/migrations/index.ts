import {
  attempts,
  blockedJobs,
  causeLastSeen,
  flow,
  flowIndexes,
  history,
  historyIndexes,
  jobs,
  recurringJobs,
  vacuumOfMany,
  waitingJobIndexes,
  waitingJobs,
} from "./0001-initial.ts";
import type { Migration } from "./migrate.ts";

export const migrations: readonly Migration[] = [
  jobs,
  attempts,
  blockedJobs,
  recurringJobs,
  waitingJobs,
  waitingJobIndexes,
  flow,
  flowIndexes,
  history,
  historyIndexes,
  causeLastSeen,
  vacuumOfMany,
];
