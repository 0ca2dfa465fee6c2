import type { StateSuites } from "../../state-suite.ts";
import { describeRecurringJobs } from "./recurring-jobs.ts";
import { describeRecurringTicks } from "./recurring-ticks.ts";

export const flowSuites: StateSuites = {
  "recurring jobs": describeRecurringJobs,
  "ticks of recurring jobs": describeRecurringTicks,
};
