/** What an adapter may use: the contracts it implements, the model they speak of, and the errors they throw. */
export { type AsyncLock, createAsyncLock } from "./base/async.ts";
export {
  type Backoff,
  type BackoffRuntime,
  type CheckedRetryConfig,
  delayOf,
  readRetryConfig,
  repeat,
  repeatAfterConflict,
  type RepeatOptions,
  type RetryConfig,
  systemBackoff,
  withRetry,
} from "./base/backoff.ts";
export { type StorageOptions, storageOptionsOf } from "./base/codec.ts";

export type { CancelTimer, Clock } from "./base/runtime.ts";

export { withDeadline } from "./base/runtime.ts";

export type {
  JobEventData,
  AttemptEventData,
  WorkerEventData,
  ErrorEventData,
  LeaseholdEvents,
  LeaseholdEventName,
} from "./observability/events.ts";

export type { Dispose, NotifyAdapter } from "./notify/contract.ts";

export type {
  ChannelName,
  NotifyTransportHandlers,
  HintCounter,
  HintCounting,
  NotifyTransport,
} from "./notify/contract.ts";

export type {
  ObservabilityAdapter,
  Tracing,
  StartTraceData,
  StartTrace,
  StartTraceEnding,
  AttemptTraceData,
  AttemptTrace,
  AttemptTraceEnding,
} from "./observability/adapter.ts";

export type {
  CheckStatus,
  CheckResult,
  CheckDepth,
  RunChecksCall,
  Diagnostics,
  TypeBacklog,
  RecentlyFinishedJob,
  MeasureBacklogCall,
  ListRecentlyFinishedCall,
  Statistics,
} from "./store/contract/diagnostics.ts";
export { clockToleranceMs } from "./store/contract/recurring.ts";
export type {
  RecurringJobProgress,
  NewRecurringJob,
  StateRecurringJob,
  ListRecurringCall,
  LockDueRecurringCall,
  DueRecurringJobs,
  AdvancedRecurringJob,
  Recurring,
} from "./store/contract/recurring.ts";
export type {
  LimitScope,
  PauseGroupCall,
  SetRuleCall,
  SetRuleResult,
  LimitUse,
  GroupPage,
  GroupUse,
  ListGroupsCall,
  throttleReasons,
  ThrottleReason,
  Throttle,
  CounterRepair,
  Limits,
} from "./store/contract/limits.ts";
export type {
  WaitingJobChange,
  UpdateWaitingJobsCall,
  WaitingJobResult,
  ExpireCall,
  ExpiredJob,
  Edits,
} from "./store/contract/edits.ts";
export type {
  AttemptOutcome,
  AttemptNote,
  StateAttempt,
  ListAttemptsCall,
  Attempts,
  NewCause,
  ListCausesCall,
  FailedJobs,
  StateCause,
  CauseList,
  Causes,
  ProcessIdentity,
  StateProcess,
  BucketKey,
  StatisticsBucket,
  ReportCall,
  ListProcessesCall,
  ReadBucketsCall,
  RollUpBucketsCall,
  DeleteOldReportsCall,
  Reports,
  History,
} from "./store/contract/history.ts";
export type {
  MaxAttempts,
  ClaimScope,
  ClaimRequest,
  ClaimCall,
  NextRunnableCall,
  CountAheadCall,
  Claims,
  HeldLease,
  LeaseRefusal,
  LeaseRenewal,
  RenewalResult,
  LockResult,
  ReapedJob,
  RenewLeasesCall,
  LockHeldJobsCall,
  LockSequenceCall,
  ReapCall,
  Leases,
} from "./store/contract/claims.ts";
export type {
  DeletionResult,
  PruneRule,
  PruneResult,
  DeleteCall,
  PruneCall,
  Deletion,
  NewJob,
  NewJobDeduplication,
  OnDuplicate,
  CreatedStateJob,
  CreateJobsCall,
  AddJobBlockersCall,
  NewJobs,
} from "./store/contract/creation.ts";
export type {
  CancelResult,
  RedriveResult,
  CancelCall,
  RedriveCall,
  CancelAndRedrive,
  JobOutcome,
  OutcomeResult,
  CommitOutcomesCall,
  Outcomes,
} from "./store/contract/outcomes.ts";
export type {
  JobFilter,
  JobPage,
  JobCount,
  ListJobsCall,
  ListBlockedJobsCall,
  Reads,
} from "./store/contract/reads.ts";
export type {
  TransactionOptions,
  Transactions,
  BaseStateAdapterContext,
  StateCall,
  StateRead,
  StateCallInTransaction,
} from "./store/contract/calls.ts";
export type {
  OptionalParts,
  PartName,
  StateAdapterCapabilities,
  StateAdapter,
  AnyStateAdapter,
  GetStateAdapterTxContext,
  GetStateAdapterContext,
  GetStateAdapterJobId,
} from "./store/contract/state-adapter.ts";
export type { contractMethods, partNames } from "./store/parts.ts";

export { attemptOutcomes, mostAttempts } from "./store/contract/history.ts";

export { requirePart } from "./store/parts.ts";

export { assertIdsGiven, hasAttemptsLeft, mayRunAgain, mostFreeExpiries } from "./store/rules/checks.ts";

export { checkCancellation } from "./store/rules/checks.ts";

export { remainingLimits } from "./store/rules/checks.ts";

export {
  type BlockerFailure,
  type CascadeJob,
  type CascadePort,
  type Dependant,
  failDependants,
  failureBy,
} from "./store/rules/dependants.ts";

export { byBytes, groupsToRead, readUpTo, selectGroups } from "./store/rules/group-pages.ts";
export { limitsOfGroup, type RulesOver, weightOfGroup } from "./store/rules/limits.ts";

export {
  compareScopes,
  countClaimable,
  countedIn,
  explainThrottle,
  findThrottleOfRule,
  findReachedLimit,
  type GroupState,
  type LimitsInUse,
  limitsClaimableAt,
  newScopeState,
  ruleClaimableAt,
  type ScopeState,
  type ThrottledJob,
  type ThrottlingGroup,
  type ThrottlingScope,
} from "./store/rules/limits.ts";

export {
  claimFairly,
  type FairClaim,
  type QueueHead,
  type TakenJob,
  type TurnsPort,
} from "./store/rules/turns.ts";

export { changedLimitRule, emptyLimitRule } from "./store/rules/limits.ts";

export { describePause, endOfPause, isPausedAt, pauseWithoutEnd, ruleAt } from "./store/rules/pauses.ts";

export {
  bucketSize,
  keepSpent,
  nextTokenAt,
  spendTokens,
  tokenInterval,
  tokensLeft,
} from "./store/rules/limits.ts";

export {
  type BacklogCounts,
  type BacklogKind,
  createBacklogCounts,
  finding,
  judgeIndexes,
  judgeMigrations,
  queueTypeKey,
  tryCheck,
} from "./store/rules/diagnostics.ts";

export { findCycle, type FindWaiting, type WaitingSequence } from "./store/rules/dependants.ts";

export { redriveJobs, type RedrivePort } from "./store/rules/redrive.ts";

export { type Awaitable, runAsync, runSync, type Walk } from "./store/rules/walk.ts";

export { attemptOf, expiredAttempt, interruptedAttempt } from "./store/rules/transitions.ts";

export {
  asksToDiscard,
  isDiscardable,
  type JobTies,
  completesSequence,
  checkOutcome,
  type OutcomeRejection,
} from "./store/rules/checks.ts";

export {
  createOpenTransactions,
  type OpenTransactions,
  type TransactionFrame,
} from "./store/open-transactions.ts";

export { type CallInProgress, callOf, givenUpBy } from "./store/given-up.ts";

export { createdStateJob, recurringJobIdOf } from "./store/rules/transitions.ts";

export {
  afterOutcome,
  cancelled,
  expired,
  failedByBlocker,
  reaped,
  renewed,
  revived,
  withBlockers,
  withFewerBlockers,
} from "./store/rules/transitions.ts";

export { expiresAt, isWaiting, checkUpdate, replaced, updated } from "./store/rules/edits.ts";

export { assertLeaseDuration, findRefusal, type LeaseState, refuse } from "./store/rules/checks.ts";

export {
  dropNeededTrees,
  type FinishedJob,
  isJobPastRetention,
  isPastRetention,
  type PruneBounds,
  type PruneRules,
  readPruneRules,
  type TreeDependency,
} from "./store/rules/prune.ts";

export {
  AdapterClosedError,
  BlockerCycleError,
  NotifyTimeoutError,
  InvalidLeaseDurationError,
  JobAlreadyExistsError,
  JobAttemptEndedError,
  JobNotFoundError,
  StateNotInTransactionError,
  StoreCallTimeoutError,
  StorePartMissingError,
  TransactionSelfDeadlockError,
} from "./store/errors.ts";
export { InvalidOptionError, LeaseholdError } from "./base/errors.ts";

export { createNotifyAdapter, type CreateNotifyAdapterOptions } from "./notify/transport-adapter.ts";

export {
  keepSubscribed,
  type KeepSubscribedOptions,
  type KeptSubscription,
  type SubscriptionSession,
} from "./notify/keep-subscribed.ts";

export { readOnError } from "./notify/transport-adapter.ts";

export { formatBytes, formatCount, formatDuration, plural } from "./base/format.ts";

export { blockerErrorText } from "./store/rules/dependants.ts";

export type { PagePosition } from "./store/contract/reads.ts";

export type { LimitValues, RateLimit, LimitRule, LimitRuleChange } from "./store/contract/limits.ts";
export type { OrderedGroup } from "./store/contract/job.ts";

export {
  type FailureReason,
  actionQueue,
  actionTypeName,
  failureReasons,
  isTerminal,
  type JobReference,
  type JobStatus,
  jobStatuses,
  referenceTo,
  type StateJob,
  type StateJobType,
  type StateSequence,
} from "./store/contract/job.ts";

export { type IsolationLevel, isolationLevels } from "./store/contract/calls.ts";

export {
  type OptionNames,
  requireNestedOptions,
  requireOptions,
  type UncheckedOptions,
} from "./base/options.ts";

export { resolveSchedule } from "./store/rules/transitions.ts";
export { type Schedule } from "./store/contract/job.ts";

export type { OnBlockerFailure } from "./store/contract/job.ts";
