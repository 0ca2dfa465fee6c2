import type { StateSuites } from "../../state-suite.ts";
import { describeAgeing } from "./ageing.ts";
import { describeConcurrencyLimits } from "./concurrency-limits.ts";
import { describeFairness } from "./fairness.ts";
import { describeFlowRaces } from "./flow-races.ts";
import { describeFlowReads } from "./flow-reads.ts";
import { describeFlowTransactions } from "./flow-transactions.ts";
import { describeHolds } from "./holds.ts";
import { describeOrderedGroups } from "./ordered-groups.ts";
import { describePauses } from "./pauses.ts";
import { describeRates } from "./rates.ts";
import { describeRuleChanges } from "./rule-changes.ts";
import { describeStoppedGroups } from "./stopped-groups.ts";
import { describeExpireWaitingJobs } from "./expire-waiting-jobs.ts";
import { describeReplacement } from "./replacement.ts";
import { describeReplacementRaces } from "./replacement-races.ts";
import { describeUpdateWaitingJobs } from "./update-waiting-jobs.ts";
import { describeRecurringJobs } from "./recurring-jobs.ts";
import { describeRecurringTicks } from "./recurring-ticks.ts";

export const flowSuites: StateSuites = {
  "concurrency limits": describeConcurrencyLimits,
  rates: describeRates,
  fairness: describeFairness,
  "ordered groups": describeOrderedGroups,
  "stopped groups": describeStoppedGroups,
  pauses: describePauses,
  "changes of rules": describeRuleChanges,
  ageing: describeAgeing,
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
