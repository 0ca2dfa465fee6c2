import type { Edits } from "./edits.ts";
import type { Limits } from "./limits.ts";
import type { Recurring } from "./recurring.ts";

export type {
  RecurringJobProgress,
  NewRecurringJob,
  StateRecurringJob,
  ListRecurringCall,
  LockDueRecurringCall,
  DueRecurringJobs,
  AdvancedRecurringJob,
  Recurring,
} from "./recurring.ts";

export type {
  LimitScope,
  SetRuleCall,
  SetRuleResult,
  LimitUse,
  GroupUse,
  ListGroupsCall,
  throttleReasons,
  ThrottleReason,
  Hold,
  CounterRepair,
  Limits,
} from "./limits.ts";

export type {
  WaitingJobChange,
  UpdateWaitingJobsCall,
  WaitingJobResult,
  ExpireCall,
  ExpiredJob,
  Edits,
} from "./edits.ts";

/**
 * The optional part for what decides when jobs come into being and when they may run, beyond a single start, and what
 * becomes of jobs that wait.
 */
export interface Flow<TTxContext> extends Limits<TTxContext>, Recurring<TTxContext>, Edits<TTxContext> {}
