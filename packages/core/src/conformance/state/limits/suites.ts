import type { StateSuites } from "../../state-suite.ts";
import { describeBacklogUnderRules } from "./backlog.ts";
import { describeConcurrencyLimits } from "./concurrency-limits.ts";
import { describeExpiredGroupJobs } from "./expired-jobs.ts";
import { describeFairness } from "./fairness.ts";
import { describeOrderedGroups } from "./ordered-groups.ts";
import { describePauses } from "./pauses.ts";
import { describeLimitsRaces } from "./races.ts";
import { describeRates } from "./rates.ts";
import { describeLimitsReads } from "./reads.ts";
import { describeRuleChanges } from "./rule-changes.ts";
import { describeStoppedGroups } from "./stopped-groups.ts";
import { describeThrottling } from "./throttling.ts";
import { describeLimitsTransactions } from "./transactions.ts";

export const limitsSuites: StateSuites = {
  "concurrency limits": describeConcurrencyLimits,
  rates: describeRates,
  fairness: describeFairness,
  "ordered groups": describeOrderedGroups,
  "stopped groups": describeStoppedGroups,
  pauses: describePauses,
  "changes of rules": describeRuleChanges,
  "what holds a job back": describeThrottling,
  "reads of rules and groups": describeLimitsReads,
  "rules and groups in transactions": describeLimitsTransactions,
  "races under rules": describeLimitsRaces,
  "expired jobs of groups": describeExpiredGroupJobs,
  "the backlog under rules": describeBacklogUnderRules,
};
