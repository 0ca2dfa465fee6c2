import type { StateSuites } from "../../state-suite.ts";
import { describeExpireWaitingJobs } from "../edits/expire-waiting-jobs.ts";
import { describeReplacementRaces } from "../edits/replacement-races.ts";
import { describeReplacement } from "../edits/replacement.ts";
import { describeUpdateWaitingJobs } from "../edits/update-waiting-jobs.ts";
import { describeRecurringJobs } from "../recurring/recurring-jobs.ts";
import { describeRecurringTicks } from "../recurring/ticks.ts";
import { describeConcurrencyLimits } from "./concurrency-limits.ts";
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

export const flowSuites: StateSuites = {
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
  "pending keys and replacement": describeReplacement,
  "replacement under concurrency": describeReplacementRaces,
  updateWaitingJobs: describeUpdateWaitingJobs,
  expireWaitingJobs: describeExpireWaitingJobs,
  "recurring jobs": describeRecurringJobs,
  "ticks of recurring jobs": describeRecurringTicks,
};
