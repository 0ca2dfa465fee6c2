export type { LeaseholdOptions } from "./create-engine.ts";

export { createLeasehold } from "./leasehold.ts";

export type { Leasehold, LeaseholdApi } from "./leasehold-api.ts";

export type {
  BatchJobHandler,
  BatchMiddleware,
  BatchMiddlewareContext,
  BatchOutputs,
  BatchProcessOptions,
  CompleteBatch,
  ContinueBatchWith,
  FailedOutput,
  ImplementJobTypeBatchOptions,
} from "./worker/handler-api.ts";

export type { CompleteJobSequenceOptions } from "./jobs/api/complete.ts";

export type {
  LimitScopeOptions,
  LimitState,
  GroupState,
  JobThrottle,
  GroupListing,
  ListGroupsOptions,
  NamedGroupOptions,
  PauseOptions,
  ResumeOptions,
  SetLimitsOptions,
} from "./limits/api.ts";

export type {
  EstimatedPercentiles,
  FailureCause,
  FailureCauseListing,
  GetStatisticsOptions,
  JobStatistics,
  LeaseholdProcess,
  ListFailureCausesOptions,
} from "./history/api.ts";

export type {
  CancelOptions,
  CancelReport,
  ChangeReport,
  DeleteOptions,
  DeleteReport,
  JobChoice,
  PruneOptions,
  RedriveOptions,
  RedriveReport,
  UpdateOptions,
  UpdateReport,
  WaitOptions,
  WaitSettings,
} from "./jobs/api/operate.ts";

export type {
  Complete,
  Middleware,
  MiddlewareContext,
  MiddlewareNext,
  Prepare,
  PrepareOptions,
  JobHandler,
  ProcessOptions,
} from "./worker/handler-api.ts";
export type {
  CompletedJobOf,
  ContinuationJob,
  ContinueWith,
  ContinueWithOptions,
  JobCompletion,
  JobContinuation,
} from "./jobs/api/complete.ts";

export {
  type CreateJobHandler,
  createJobHandlerFactory,
  type JobHandlerOf,
  type JobTypeNameOf,
  type LeaseholdTypes,
  type ProcessOptionsOf,
  type TypedLeasehold,
} from "./worker/job-handler-factory.ts";

export type { JobAttempt, JobAttemptOutcome, JobLogLine } from "./history/api.ts";

export type {
  JobCountRow,
  InputMatch,
  JobListing,
  JobSequenceListing,
  ListJobSequencesOptions,
  ListJobsOptions,
  PageOptions,
} from "./jobs/api/query.ts";
export { type JobFilterField, jobFilterFields, type JobFilterOptions } from "./jobs/filter.ts";
export type { ExplanationLink, JobExplanation } from "./doctor/explain.ts";

export type {
  DeclaredRecurringJob,
  ListRecurringJobsOptions,
  PreviewedTime,
  PreviewRecurringJobOptions,
  PutRecurringJobOptions,
  RecurringJob,
  RecurringJobDeclarations,
  RecurringJobListing,
  RecurringJobTemplate,
  RecurringJobFailure,
  RecurringJobTick,
  RecurringPolicies,
  RecurringTimes,
  TriggeredRecurringJob,
  UpdateRecurringJobOptions,
} from "./recurring/api.ts";

export { describeJobTypes, fitsJobType, type JobTypeDescription } from "./job-types/describe.ts";

export { findByShortId, isShortId, shortId } from "./jobs/short-id.ts";

export { changeInput, type InputChange, replaceInput } from "./jobs/edit-input.ts";

export type {
  DebounceOptions,
  DeduplicationOptions,
  OnDuplicateOption,
  StartBlockers,
  StartedJobSequence,
  StartJobSequenceOptions,
} from "./jobs/api/start.ts";

export type {
  ImplementJobTypeOptions,
  QueueOptions,
  RunningWorker,
  RunUntilIdleOptions,
  RunUntilIdleResult,
  StopOptions,
  StopResult,
  WorkerBuilder,
  WorkerDefinitionOptions,
  WorkerHealth,
  WorkerStartOptions,
} from "./worker/api.ts";

export type { CancelTimer, Clock, Runtime } from "./base/runtime.ts";

export type { LeaseholdEventName, LeaseholdEvents } from "./observability/events.ts";

export { collapseRepeats } from "./observability/log.ts";

export {
  type ConsoleLogOptions,
  createConsoleLog,
  type Log,
  type LogEntry,
  type LogLevel,
} from "./observability/log.ts";

export type { NotifyAdapter } from "./notify/contract.ts";

export type { ObservabilityAdapter } from "./observability/adapter.ts";

export type {
  GetStateAdapterContext,
  GetStateAdapterJobId,
  GetStateAdapterTxContext,
  StateAdapter,
} from "./store/contract/state-adapter.ts";
export type { TransactionOptions } from "./store/contract/calls.ts";

export type { LoopRetryConfig, RetryConfig } from "./base/backoff.ts";
export { wrapStateAdapterWithRetry } from "./engine/dispatch.ts";
export { wrapNotifyAdapterWithLogging, wrapStateAdapterWithLogging } from "./observability/log-adapters.ts";

export {
  LeaseholdError,
  InvalidOptionError,
  LeaseholdClosedError,
  PayloadNotStorableError,
  PayloadTooLargeError,
  type SchemaIssue,
  SchemaValidationError,
} from "./base/errors.ts";
export {
  InvalidLeaseDurationError,
  JobNotFoundError,
  JobAlreadyExistsError,
  JobNotRunningError,
  LeaseMismatchError,
  LeaseExpiredError,
  JobTakenByAnotherWorkerError,
  JobAlreadyCompletedError,
  JobAlreadyFailedError,
  StateNotInTransactionError,
  TransactionSelfDeadlockError,
  AdapterClosedError,
  StorePartMissingError,
  QueueRequiredError,
  VersionMismatchError,
  StoreCallTimeoutError,
  NotifyTimeoutError,
  WaitForJobSequenceCompletionTimeoutError,
  JobSequenceFailedError,
  BlockerCycleError,
  JobSequenceHasDependantsError,
  JobSequenceNotRootError,
  RecurringJobNotFoundError,
  RecurringJobOwnedByOtherError,
  RecurringJobRefusedError,
  UnknownJobTypeError,
  ProcessMisuseError,
  JobAttemptEndedError,
  JobTimeoutError,
  UnrecoverableJobError,
  RescheduleJobError,
} from "./store/errors.ts";

export { createNoopNotifyAdapter } from "./notify/in-process.ts";

export { createInProcessNotifyAdapter } from "./notify/in-process.ts";

export {
  createInProcessStateAdapter,
  type InProcessStateAdapter,
  type InProcessStateAdapterOptions,
} from "./memory/state-adapter.ts";

export type { InProcessContext } from "./memory/transactions.ts";

export { type Codec, jsonCodec } from "./base/codec.ts";

export type {
  AnyJob,
  AnyJobSequence,
  BlockedJob,
  CompletedJob,
  CompletedJobSequence,
  CreatedJob,
  FailedJob,
  FailedJobSequence,
  Job,
  JobAbortReason,
  JobBlocked,
  JobCompletedWithOutput,
  JobContinued,
  JobFailed,
  JobFailure,
  JobPending,
  JobRunning,
  JobSequence,
  JobSequenceCompleted,
  JobSequenceFailed,
  JobSequenceOpen,
  JobSequenceStatus,
  JobWithoutBlockers,
  OpenJob,
  PendingJob,
  RunningJob,
  TypedAbortSignal,
} from "./job-types/entities.ts";

export type { LimitValues, RateLimit, LimitRule } from "./store/contract/limits.ts";
export type { OrderedGroup } from "./store/contract/job.ts";

export type { RateLimitOptions, LimitRuleOptions, GroupLimitOptions } from "./limits/rule.ts";

export { type ThrottleReason, throttleReasons } from "./store/contract/limits.ts";

export type { IsolationLevel } from "./store/contract/calls.ts";

export { type FailureReason, failureReasons, type JobStatus, jobStatuses } from "./store/contract/job.ts";

export type { JobSettings, OnBlockerFailure } from "./store/contract/job.ts";

export type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
  DefineParsed,
  JobTypeName,
} from "./job-types/markers.ts";

export type {
  BlockerSequences,
  ContinuationJobTypes,
  ExternalJobTypeDefinitions,
  HasBlockers,
  JobOf,
  JobSequenceOf,
  SequenceJobTypes,
  SequenceTypesReaching,
} from "./job-types/navigation.ts";

export { defineJobTypes, defineUnionJobTypes, type JobTypes, typeOnly } from "./job-types/define.ts";
export { type DefinitionsOf, mergeJobTypes } from "./job-types/merge.ts";

export type {
  GroupOf,
  JobTypeOptions,
  JobTypeSettings,
  TypeOnly,
  VaryingBlockers,
} from "./job-types/options.ts";

export { type LeaseholdDefaults, patientRetries } from "./job-types/settings.ts";

export type { JobRecurrence } from "./job-types/entities.ts";

export type { CatchUpPolicy, OverlapPolicy } from "./recurring/definition.ts";

export type { TickResult } from "./observability/events.ts";

export type { RetentionOptions } from "./job-types/retention.ts";

export type { RetryPolicy } from "./job-types/retry-policy.ts";

export type { ScheduleOptions } from "./store/contract/job.ts";

export type { StandardSchemaV1 } from "./job-types/options.ts";

export type { StoredError } from "./base/stored-error.ts";

export { failJob } from "./worker/outcome.ts";

export { rescheduleJob } from "./worker/outcome.ts";

export { stopOnSignals, type StopOnSignalsOptions } from "./worker/stop-on-signals.ts";
