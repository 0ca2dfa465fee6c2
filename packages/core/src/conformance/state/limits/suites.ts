import type { StateSuites } from "../../state-suite.ts";
import { describeConcurrencyLimits } from "./concurrency-limits.ts";
import { describeExpiredGroupJobs } from "./expired-jobs.ts";
import { describeFairness } from "./fairness.ts";
import { describeOrderedGroups } from "./ordered-groups.ts";
import { describePauses } from "./pauses.ts";
import { describeFlowRaces } from "./races.ts";
import { describeRates } from "./rates.ts";
import { describeFlowReads } from "./reads.ts";
import { describeRuleChanges } from "./rule-changes.ts";
import { describeStoppedGroups } from "./stopped-groups.ts";
import { describeHolds } from "./throttling.ts";
import { describeFlowTransactions } from "./transactions.ts";

export const limitsSuites: StateSuites = {
  "concurrency limits": describeConcurrencyLimits,
  rates: describeRates,
  fairness: describeFairness,
  "ordered groups": describeOrderedGroups,
  "stopped groups": describeStoppedGroups,
  pauses: describePauses,
  "changes of rules": describeRuleChanges,
  "what holds a job back": describeHolds,
  "reads of rules and groups": describeFlowReads,
  "rules and groups in transactions": describeFlowTransactions,
  "races under rules": describeFlowRaces,
  "expired jobs of groups": describeExpiredGroupJobs,
};
