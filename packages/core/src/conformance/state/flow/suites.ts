import type { StateSuites } from "../../state-suite.ts";
import { describeExpireWaitingJobs } from "./expire-waiting-jobs.ts";
import { describeReplacement } from "./replacement.ts";
import { describeReplacementRaces } from "./replacement-races.ts";
import { describeUpdateWaitingJobs } from "./update-waiting-jobs.ts";
import { describeRecurringJobs } from "./recurring-jobs.ts";
import { describeRecurringTicks } from "./recurring-ticks.ts";

export const flowSuites: StateSuites = {
  "pending keys and replacement": describeReplacement,
  "replacement under concurrency": describeReplacementRaces,
  updateWaitingJobs: describeUpdateWaitingJobs,
  expireWaitingJobs: describeExpireWaitingJobs,
  "recurring jobs": describeRecurringJobs,
  "ticks of recurring jobs": describeRecurringTicks,
};
