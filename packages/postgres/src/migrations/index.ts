import { jobs } from "./0001-jobs.ts";
import { attempts } from "./0002-attempts.ts";
import { blockedJobs } from "./0003-blocked-jobs.ts";
import { recurringJobs } from "./0004-recurring-jobs.ts";
import { waitingJobs } from "./0005-waiting-jobs.ts";
import { waitingJobIndexes } from "./0006-waiting-job-indexes.ts";
import { flow } from "./0007-flow.ts";
import { flowIndexes } from "./0008-flow-indexes.ts";
import { history } from "./0009-history.ts";
import { historyIndexes } from "./0010-history-indexes.ts";
import { causeLastSeen } from "./0011-cause-last-seen.ts";
import { vacuumOfMany } from "./0012-vacuum-of-many.ts";
import type { Migration } from "./migration.ts";

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
