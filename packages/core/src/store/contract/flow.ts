import type { WaitingJobs } from "./edits.ts";
import type { FlowRules } from "./limits.ts";
import type { RecurringJobs } from "./recurring.ts";

export type {
  RecurringJobProgress,
  NewRecurringJob,
  StateRecurringJob,
  ListRecurringCall,
  LockDueRecurringCall,
  DueRecurringJobs,
  AdvancedRecurringJob,
  RecurringJobs,
} from "./recurring.ts";

export type {
  FlowScope,
  SetFlowRuleCall,
  SetFlowRuleResult,
  FlowUse,
  GroupUse,
  ListGroupsCall,
  holdReasons,
  HoldReason,
  Hold,
  FlowRepair,
  FlowRules,
} from "./limits.ts";

export type {
  WaitingJobChange,
  UpdateWaitingJobsCall,
  WaitingJobResult,
  ExpireCall,
  ExpiredJob,
  WaitingJobs,
} from "./edits.ts";

/**
 * The optional part for what decides when jobs come into being and when they may run, beyond a single start, and what
 * becomes of jobs that wait.
 */
export interface Flow<TTxContext>
  extends FlowRules<TTxContext>, RecurringJobs<TTxContext>, WaitingJobs<TTxContext> {}
