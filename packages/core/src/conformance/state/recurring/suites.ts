import type { StateSuites } from "../../state-suite.ts";
import { describeRecurringJobs } from "./recurring-jobs.ts";
import { describeRecurringTicks } from "./ticks.ts";

export const recurringSuites: StateSuites = {
  "recurring jobs": describeRecurringJobs,
  "ticks of recurring jobs": describeRecurringTicks,
};
