import type { RecurringJobs } from "./flow/recurring-jobs.ts";
import type { FlowRules } from "./flow/rules.ts";
import type { WaitingJobs } from "./flow/waiting-jobs.ts";

export type * from "./flow/recurring-jobs.ts";
export type * from "./flow/rules.ts";
export type * from "./flow/waiting-jobs.ts";

/**
 * The optional part for what decides when jobs come into being and when they may run, beyond a single start, and what
 * becomes of jobs that wait.
 */
export interface Flow<TTxContext>
  extends FlowRules<TTxContext>, RecurringJobs<TTxContext>, WaitingJobs<TTxContext> {}
