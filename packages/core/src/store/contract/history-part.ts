import type { Actions } from "./actions.ts";
import type { Attempts, Causes, Reports } from "./history.ts";

export type {
  attemptOutcomes,
  AttemptOutcome,
  AttemptNote,
  StateAttempt,
  ListAttemptsCall,
  mostAttempts,
  Attempts,
} from "./history.ts";

export type { NewCause, ListCausesCall, FailedJobs, StateCause, CauseList, Causes } from "./history.ts";

export type {
  Reporter,
  StateProcess,
  BucketKey,
  StatisticsBucket,
  ReportCall,
  ListProcessesCall,
  ReadBucketsCall,
  RollUpBucketsCall,
  DeleteOldReportsCall,
  Reports,
} from "./history.ts";

/**
 * The optional part for what has happened: attempts that failed, what jobs fail from, how much each process did, and what
 * people did to jobs. Without it jobs run the same, and nobody can look back.
 */
export interface History<TTxContext>
  extends Attempts<TTxContext>, Causes<TTxContext>, Reports<TTxContext>, Actions<TTxContext> {}
