export type { LeaseholdOptions } from "./create-engine.ts";
export { createLeasehold } from "./leasehold.ts";
export type { Leasehold, LeaseholdApi } from "./api.ts";
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
} from "./api/batches.ts";
export type { CompleteJobSequenceOptions } from "./api/complete-options.ts";
export type {
  FlowScopeOptions,
  FlowState,
  GroupState,
  JobHold,
  ListGroupsOptions,
  ResumeOptions,
  SetFlowOptions,
} from "./api/flow.ts";
export type {
  EstimatedPercentiles,
  FailureCause,
  FailureCauseListing,
  GetStatisticsOptions,
  JobStatistics,
  LeaseholdProcess,
  ListFailureCausesOptions,
} from "./api/history.ts";
export type {
  CancelledJobSequence,
  JobChoice,
  PruneOptions,
  RedriveOptions,
  RedriveReport,
  UpdateWaitingJobsOptions,
  UpdateWaitingJobsReport,
  WaitOptions,
} from "./api/operations.ts";
export type {
  Complete,
  ContinueWith,
  ContinueWithOptions,
  JobCompletion,
  JobContinuation,
  Middleware,
  MiddlewareContext,
  Prepare,
  PrepareOptions,
  JobHandler,
  ProcessOptions,
} from "./api/process.ts";
export type { JobAttempt, JobAttemptOutcome, JobLogLine } from "./api/attempts.ts";
export type {
  JobCountRow,
  JobExplanation,
  InputMatch,
  JobFilterOptions,
  JobListing,
  JobSequenceListing,
  ListJobSequencesOptions,
  ListJobsOptions,
  PageOptions,
} from "./api/queries.ts";
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
  RecurringJobTick,
  RecurringPolicies,
  RecurringTimes,
  TriggeredRecurringJob,
} from "./api/recurring.ts";
export type {
  DeduplicationOptions,
  OnDuplicateOption,
  StartBlockers,
  StartedJobSequence,
  StartJobSequenceOptions,
} from "./api/start-options.ts";
export type {
  ImplementJobTypeOptions,
  QueueOptions,
  RunningWorker,
  StopOptions,
  StopResult,
  WorkerBuilder,
  WorkerDefinitionOptions,
  WorkerHealth,
  WorkerStartOptions,
} from "./api/worker.ts";
export type { CancelTimer, Clock, Runtime } from "./clock.ts";
export type { LeaseholdEventName, LeaseholdEvents } from "./contracts/events.ts";
export { collapseRepeats } from "./contracts/collapse-repeats.ts";
export {
  type ConsoleLogOptions,
  createConsoleLog,
  type Log,
  type LogEntry,
  type LogLevel,
} from "./contracts/log.ts";
export type { NotifyAdapter } from "./contracts/notify-adapter.ts";
export type { ObservabilityAdapter } from "./contracts/observability-adapter.ts";
export type {
  GetStateAdapterContext,
  GetStateAdapterJobId,
  GetStateAdapterTxContext,
  StateAdapter,
  TransactionOptions,
} from "./contracts/state-adapter.ts";
export type { StoreRetryOptions } from "./engine/dispatch.ts";
export * from "./errors.ts";
export { createNoopNotifyAdapter } from "./memory/noop-notify-adapter.ts";
export { createInProcessNotifyAdapter } from "./memory/notify-adapter.ts";
export {
  createInProcessStateAdapter,
  type InProcessStateAdapter,
  type InProcessStateAdapterOptions,
} from "./memory/state-adapter.ts";
export type { InProcessContext } from "./memory/transactions.ts";
export { type Codec, jsonCodec } from "./model/codec.ts";
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
} from "./model/entities.ts";
export type { FlowLimits, FlowRate, FlowRule, OrderedGroup } from "./model/flow-rule.ts";
export type { FlowRateOptions, FlowRuleOptions, GroupLimitOptions } from "./model/parse-flow-rule.ts";
export { type HoldReason, holdReasons } from "./contracts/flow/rules.ts";
export type { IsolationLevel } from "./model/isolation-levels.ts";
export { type FailureReason, failureReasons, type JobStatus, jobStatuses } from "./model/job.ts";
export type { JobSettings, OnBlockerFailure } from "./model/job-settings.ts";
export type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
  DefineParsed,
  JobTypeName,
} from "./model/job-type-markers.ts";
export type {
  BlockerSequences,
  ContinuationJobTypes,
  ExternalJobTypeDefinitions,
  HasBlockers,
  JobOf,
  JobSequenceOf,
  SequenceJobTypes,
  SequenceTypesReaching,
} from "./model/job-type-navigation.ts";
export { defineJobTypes, defineUnionJobTypes, type JobTypes, typeOnly } from "./model/job-types.ts";
export type { GroupOf, JobTypeOptions, JobTypeSettings, TypeOnly } from "./model/job-type-options.ts";
export { type LeaseholdDefaults, patientRetries } from "./model/defaults.ts";
export type { JobRecurrence } from "./model/recurrence/job-recurrence.ts";
export type { CatchUpPolicy, OverlapPolicy } from "./model/recurrence/policies.ts";
export type { TickResult } from "./model/recurrence/tick-record.ts";
export type { RetentionOptions } from "./model/retention.ts";
export type { RetryPolicy } from "./model/retry-policy.ts";
export type { ScheduleOptions } from "./model/schedule.ts";
export type { StandardSchemaV1 } from "./model/standard-schema.ts";
export type { StoredError } from "./model/stored-error.ts";
export { failJob } from "./worker/fail-job.ts";
export { rescheduleJob } from "./worker/reschedule-job.ts";
export { stopOnSignals, type StopOnSignalsOptions } from "./worker/stop-on-signals.ts";
