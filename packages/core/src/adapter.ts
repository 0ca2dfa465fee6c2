/** What an adapter may use: the contracts it implements, the model they speak of, and the errors they throw. */
export type { CancelTimer, Clock } from "./clock.ts";
export { withDeadline } from "./deadline.ts";
export type * from "./contracts/events.ts";
export type * from "./contracts/notify-adapter.ts";
export type * from "./contracts/notify-transport.ts";
export type * from "./contracts/observability-adapter.ts";
export type * from "./contracts/state-adapter.ts";
export { attemptOutcomes, mostAttempts } from "./contracts/history/attempts.ts";
export { requirePart } from "./contracts/optional-parts.ts";
export { hasAttemptsLeft } from "./rules/attempts.ts";
export { judgeCancellation } from "./rules/cancellation.ts";
export { remainingLimits } from "./rules/claim-limits.ts";
export {
  type BlockerFailure,
  type CascadeJob,
  type CascadePort,
  type Dependant,
  failDependants,
  failureBy,
} from "./rules/fail-dependants.ts";
export {
  agedPriority,
  agePriorityMsOf,
  limitsOfLine,
  type RulesOver,
  weightOfGroup,
} from "./rules/flow-limits.ts";
export { findHoldOfRule, findReachedLimit, type LimitsInUse } from "./rules/flow-holds.ts";
export { changedFlowRule, emptyFlowRule } from "./rules/flow-rule-change.ts";
export { keepSpent, nextTokenAt, spendTokens, tokenInterval, tokensLeft } from "./rules/flow-rates.ts";
export { finding, judgeIndexes, judgeMigrations, tryCheck } from "./rules/findings.ts";
export { findCycle, type FindWaiting, type WaitingSequence } from "./rules/find-cycle.ts";
export { redriveJobs, type RedrivePort } from "./rules/redrive.ts";
export { type Awaitable, runAsync, runSync, type Walk } from "./rules/walk.ts";
export { attemptOf, expiredAttempt } from "./rules/history.ts";
export { completesSequence, judgeOutcome, type OutcomeRejection } from "./rules/outcomes.ts";
export {
  createOpenTransactions,
  type OpenTransactions,
  type TransactionFrame,
} from "./rules/open-transactions.ts";
export { createdStateJob } from "./rules/created-job.ts";
export {
  afterOutcome,
  cancelled,
  completed,
  expired,
  failed,
  failedByBlocker,
  givenBack,
  reaped,
  retried,
  revived,
  withBlockers,
  withFewerBlockers,
} from "./rules/transitions.ts";
export { expiresAt, isWaiting, judgeUpdate, replaced, updated } from "./rules/waiting-jobs.ts";
export { assertLeaseDuration, findRefusal, type LeaseState, refuse } from "./rules/lease-checks.ts";
export {
  dropNeededTrees,
  type FinishedJob,
  isJobPastRetention,
  isPastRetention,
  type PruneBounds,
  type PruneRules,
  readPruneRules,
  type TreeDependency,
} from "./rules/prune-rules.ts";
export {
  AdapterClosedError,
  BlockerCycleError,
  BrokerTimeoutError,
  FlowNotEnabledError,
  InvalidLeaseDurationError,
  InvalidOptionError,
  JobAlreadyExistsError,
  JobAttemptEndedError,
  JobNotFoundError,
  LeaseholdError,
  StateNotInTransactionError,
  StoreCallTimeoutError,
  StorePartMissingError,
  TransactionSelfDeadlockError,
} from "./errors.ts";
export { createNotifyAdapter, type CreateNotifyAdapterOptions } from "./notifications/notify-adapter.ts";
export { readOnError } from "./notifications/read-on-error.ts";
export { formatBytes, formatCount, formatDuration, plural } from "./model/amounts.ts";
export { blockerErrorText } from "./model/blocker-error.ts";
export type { PagePosition } from "./model/cursor.ts";
export type { FlowLimits, FlowRate, FlowRule, FlowRuleChange, OrderedGroup } from "./model/flow-rule.ts";
export {
  type FailureReason,
  failureReasons,
  isTerminal,
  type JobReference,
  type JobStatus,
  jobStatuses,
  referenceTo,
  type StateJob,
  type StateSequence,
} from "./model/job.ts";
export { type IsolationLevel, isolationLevels } from "./model/isolation-levels.ts";
export {
  type OptionNames,
  requireNestedOptions,
  requireOptions,
  type UncheckedOptions,
} from "./model/option-checks.ts";
export { resolveSchedule, type Schedule } from "./model/schedule.ts";
export type { OnBlockerFailure } from "./model/job-settings.ts";
