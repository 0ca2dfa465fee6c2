export type { LeaseholdOptions } from "./create-engine.ts";
export { createLeasehold } from "./leasehold.ts";
export type { Leasehold, LeaseholdApi } from "./api.ts";
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
  CancelledJobSequence,
  PruneOptions,
  RedriveOptions,
  RedriveReport,
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
  DeduplicationOptions,
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
export type { RetentionOptions } from "./model/retention.ts";
export type { RetryPolicy } from "./model/retry-policy.ts";
export type { ScheduleOptions } from "./model/schedule.ts";
export type { StandardSchemaV1 } from "./model/standard-schema.ts";
export type { StoredError } from "./model/stored-error.ts";
export { rescheduleJob } from "./worker/reschedule-job.ts";
export { stopOnSignals, type StopOnSignalsOptions } from "./worker/stop-on-signals.ts";
