import type { StateSuites } from "../../state-suite.ts";
import { describeExpireWaitingJobs } from "./expire-waiting-jobs.ts";
import { describeReplacementRaces } from "./replacement-races.ts";
import { describeReplacement } from "./replacement.ts";
import { describeUpdateWaitingJobs } from "./update-waiting-jobs.ts";

export const editsSuites: StateSuites = {
  "pending keys and replacement": describeReplacement,
  "replacement under concurrency": describeReplacementRaces,
  updateWaitingJobs: describeUpdateWaitingJobs,
  expireWaitingJobs: describeExpireWaitingJobs,
};
