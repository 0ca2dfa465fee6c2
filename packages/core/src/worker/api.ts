import type { LoopRetryConfig } from "../base/backoff.ts";
import type { JobTypeName } from "../job-types/markers.ts";
import type { JobTypeNames } from "../job-types/navigation.ts";
import type { RetryPolicy } from "../job-types/retry-policy.ts";
import type {
  BatchMiddleware,
  HandlerOptionsOfType,
  ImplementJobTypeBatchOptions,
  JobHandler,
  Middleware,
} from "./handler-api.ts";

/** The argument of `createWorker`. */
export interface WorkerDefinitionOptions {
  /** The retry policy for handlers and job types that have none. Default: exponential with full jitter. */
  readonly retry?: RetryPolicy | undefined;
}

/** The argument of `implementJobType`. */
export interface ImplementJobTypeOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
  TValues = unknown,
> extends HandlerOptionsOfType<TTypeName> {
  /** The handler: runs one attempt of a job. */
  readonly process: JobHandler<TDefs, TTxContext, TJobId, NoInfer<TTypeName>, TValues>;
}

/** A worker that is being defined. It can be started any number of times. `TValues` are those of its middleware. */
export interface WorkerBuilder<TDefs, TTxContext, TJobId extends string, TValues = unknown> {
  /**
   * Wraps every handler of this worker that gets one job. The middleware added first is the outermost. Values that it passes to
   * `next` are typed in the handlers that are added afterwards.
   */
  use<TAdded = unknown>(
    middleware: Middleware<TAdded, TValues>,
  ): WorkerBuilder<TDefs, TTxContext, TJobId, TValues & TAdded>;

  /** Wraps every batch handler of this worker. Required together with `use`, so that no middleware is left out unnoticed. */
  useForBatches(middleware: BatchMiddleware): WorkerBuilder<TDefs, TTxContext, TJobId, TValues>;

  /** Adds a handler. A worker only claims jobs of types it has a handler for. */
  implementJobType<TTypeName extends JobTypeNames<TDefs>["all"]>(
    options: ImplementJobTypeOptions<TDefs, TTxContext, TJobId, TTypeName, TValues>,
  ): WorkerBuilder<TDefs, TTxContext, TJobId, TValues>;

  /** Adds a handler that gets many jobs in one call. Each keeps its own lease, attempt and outcome. */
  implementJobTypeBatch<TTypeName extends JobTypeNames<TDefs>["all"]>(
    options: ImplementJobTypeBatchOptions<TDefs, TTxContext, TJobId, TTypeName>,
  ): WorkerBuilder<TDefs, TTxContext, TJobId, TValues>;

  /** Starts a worker: it claims and runs jobs until `stop`, or until `close` of the Leasehold. */
  start(options?: WorkerStartOptions): Promise<RunningWorker>;

  /**
   * Runs jobs until none can be claimed, or until the deadline: for a process that may only run for a while, such as a
   * function called by a timer. Also starts due recurring jobs, reclaims expired leases and prunes. It listens to no notify
   * adapter and leaves nothing running. Rejects if the store could not be reached at all.
   */
  runUntilIdle(options: RunUntilIdleOptions): Promise<RunUntilIdleResult>;
}

/** How a worker serves one queue. */
export interface QueueOptions {
  /** How many calls of handlers may run at once for this queue. Default: the worker's `concurrency`. */
  readonly concurrency?: number | undefined;
  /** Claims jobs of every type; those without a handler fail with `no_handler`. Default: false. */
  readonly claimAllTypes?: boolean | undefined;
}

/** The argument of a worker's `start`. */
export interface WorkerStartOptions {
  /** The name of the worker in `leasedBy`, logs and metrics. Default: `worker-` and eight random characters. */
  readonly workerId?: string | undefined;
  /** How many calls of handlers may run at once, over all queues. A call is for one job, or for a batch. Default: 10. */
  readonly concurrency?: number | undefined;
  /** The queues to serve, each with its own limit. Default: `"default"` and the queues of the implemented types. */
  readonly queues?: Readonly<Record<string, number | QueueOptions>> | undefined;
  /**
   * How many jobs may be claimed before there is a free slot. Default: at most 1,000, as many as run within 50 ms. A job that has
   * waited for 0.2 seconds is released for other workers.
   */
  readonly prefetch?: number | undefined;
  /** The longest sleep when there is nothing to do and no notification arrives. Default: 1 second. */
  readonly pollIntervalMs?: number | undefined;
  /** How long a lease lasts without renewal; then another worker may claim the job. Renewed every third of it. Default: 30 seconds. */
  readonly leaseMs?: number | undefined;
  /** Caps the attempts of every job, whatever its start, handler or type allow. Default: no cap. */
  readonly maxAttempts?: number | undefined;
  /** How often to look for jobs whose worker has gone silent. Default: 5 seconds. */
  readonly reapIntervalMs?: number | undefined;
  /** How often to remove finished jobs that are past their `retention`. Default: 1 minute. */
  readonly pruneIntervalMs?: number | undefined;
  /**
   * How long an idle worker may send no statement at all. Without running jobs, and with nothing due, it then waits for a
   * notification or for the time that the next job is due, and postpones polls, reaping, pruning and reports. A notification that is
   * lost, or a lease that ends in a type without a handler here, is noticed after this time. Default: none, so the intervals above hold.
   */
  readonly idleSleepMs?: number | undefined;
  /** How long a handler may ignore its aborted signal before another job gets its slot. Default: 5 seconds. */
  readonly abortGraceMs?: number | undefined;
  /** How long `stop` waits for running jobs before it aborts them. Default: 30 seconds. */
  readonly stopDeadlineMs?: number | undefined;
  /** How many results are written in one call at most. Default: 500. */
  readonly commitBatchSize?: number | undefined;
  /** How long a result may wait for more results to be written with it. Default: 0. */
  readonly commitLingerMs?: number | undefined;
  /**
   * How the worker waits after the store has failed, until it claims, renews or writes again. The delay begins with
   * `initialDelayMs` and doubles up to `maxDelayMs`, with jitter. Default: 100 ms to 1 second.
   */
  readonly workerLoopRetryConfig?: LoopRetryConfig | undefined;
}

/** The argument of `runUntilIdle`: its deadline, and the options of `start` that matter for a short run. */
export interface RunUntilIdleOptions extends Omit<
  WorkerStartOptions,
  "reapIntervalMs" | "pruneIntervalMs" | "stopDeadlineMs" | "idleSleepMs"
> {
  /**
   * How long the call takes at most. The last part of it is kept for the end: running handlers are aborted `abortGraceMs` and
   * the time for writing results, an eighth of the deadline and at most a second, before it.
   */
  readonly deadlineMs: number;
  /** How long an aborted handler has to react. Default: an eighth of the deadline, at most a second. */
  readonly abortGraceMs?: number | undefined;
}

/** What a run did. */
export interface RunUntilIdleResult extends StopResult {
  /** Jobs whose handler has ended, whatever its outcome. Jobs that were aborted are not counted. */
  readonly ranJobs: number;
  /** Whether the run ended because this worker could claim nothing more. False: the deadline came first, or `close`. */
  readonly isIdle: boolean;
  /**
   * When the next job, retry, expired lease or recurring job is due for this worker; null if none is in sight. Not in the future
   * if work is left now: after a deadline, or where other workers or limits keep a job from being claimed.
   */
  readonly nextRunnableAt: Date | null;
}

/** The argument of `stop`, and of `close`. */
export interface StopOptions {
  /**
   * How long to wait for running jobs, counted from the call. Overrides `stopDeadlineMs`. Handlers that still run then are
   * aborted and have `abortGraceMs` to react. Open claims, results and subscriptions have until the deadline, and at least
   * two seconds after the last handler ended. So `stop` takes at most `deadlineMs` + `abortGraceMs` + 2 s.
   */
  readonly deadlineMs?: number | undefined;
}

/** How a worker stopped. */
export interface StopResult {
  /** True if every running job ended before the deadline, every result was written and every claim was answered. */
  readonly clean: boolean;
  /** Jobs that were claimed but not begun. They were released, and no attempt was counted. */
  readonly releasedJobs: number;
  /** Jobs that were aborted at the deadline and released. */
  readonly abortedJobs: number;
  /** Handlers that did not react to their abort within the grace period. Their results are fenced off. */
  readonly abandonedJobs: number;
  /**
   * Results, and releases of jobs, that could not be written because the store did not answer in time. Their leases
   * expire, and other workers run these jobs again.
   */
  readonly unwrittenResults: number;
}

/** What a worker is doing, for readiness checks and metrics. */
export interface WorkerHealth {
  readonly workerId: string;
  readonly state: "running" | "stopping" | "stopped";
  /** False when claims, renewals, written results or maintenance keep failing, for instance because the store does not answer. */
  readonly healthy: boolean;
  /** What is wrong, for people to read. Empty when healthy. */
  readonly problems: readonly string[];
  readonly runningJobs: number;
  readonly bufferedJobs: number;
  readonly uncommittedResults: number;
  readonly lastClaimAt: Date | null;
  readonly lastRenewalAt: Date | null;
}

/** A worker that has been started. */
export interface RunningWorker {
  /** Its name in `leasedBy`, logs and metrics. */
  readonly workerId: string;
  /**
   * Claims nothing more, lets running jobs finish until the deadline and writes all results. It never rejects and takes a
   * bounded time; see `StopOptions`. Calling it again gives the same result.
   */
  stop(options?: StopOptions): Promise<StopResult>;
  /** The state of the worker at this moment. */
  health(): WorkerHealth;
}
