import type { JobTypeName } from "../model/job-type-markers.ts";
import type { JobTypeNames } from "../model/job-type-navigation.ts";
import type { RetryPolicy } from "../model/retry-policy.ts";
import type { Middleware, ProcessFunction } from "./process.ts";

export interface WorkerDefinitionOptions {
  /** For job types that have no policy of their own. Default: exponential with full jitter. */
  readonly retry?: RetryPolicy | undefined;
}

export interface ImplementJobTypeOptions<
  TDefs,
  TTxContext,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> {
  readonly typeName: TTypeName;
  readonly process: ProcessFunction<TDefs, TTxContext, TJobId, NoInfer<TTypeName>>;
  /** Stands before the policy of the job type's definition. */
  readonly retry?: RetryPolicy | undefined;
  /** How often a job may run in all, unless its start says so. Overrides the type's and the default; a worker may cap it. */
  readonly maxAttempts?: number | undefined;
  /** How long one attempt may take. The smallest of the job's, the type's and this counts. */
  readonly timeoutMs?: number | undefined;
}

export interface WorkerBuilder<TDefs, TTxContext, TJobId extends string> {
  /** Wraps every handler of this worker; the first added is the outermost. */
  use(middleware: Middleware): WorkerBuilder<TDefs, TTxContext, TJobId>;

  /** Adds a handler. A worker only claims jobs of types it has a handler for. */
  implementJobType<TTypeName extends JobTypeNames<TDefs>["all"]>(
    options: ImplementJobTypeOptions<TDefs, TTxContext, TJobId, TTypeName>,
  ): WorkerBuilder<TDefs, TTxContext, TJobId>;

  start(options?: WorkerStartOptions): Promise<RunningWorker>;
}

export interface QueueOptions {
  /** How many jobs of this queue may run at once. Default: the worker's `concurrency`. */
  readonly concurrency?: number | undefined;
  /** This worker owns the queue whole: jobs of types it has no handler for fail with `no_handler`. Default: false. */
  readonly claimAllTypes?: boolean | undefined;
}

export interface WorkerStartOptions {
  /** Names the worker in `leasedBy`, logs and metrics. Default: made up. */
  readonly workerId?: string | undefined;
  /** How many jobs may run at once, over all queues. */
  readonly concurrency?: number | undefined;
  /** The queues to serve, each with its own limit. Default: `"default"` and the queues of the implemented types. */
  readonly queues?: Readonly<Record<string, number | QueueOptions>> | undefined;
  /** How many jobs may be claimed ahead of a free slot. */
  readonly prefetch?: number | undefined;
  /** How long to sleep at most when there is nothing to do and no hint arrives. */
  readonly pollIntervalMs?: number | undefined;
  /** How long the worker may be silent before its jobs are given to others. Renewed every third of it. */
  readonly leaseMs?: number | undefined;
  /** The operator's cap on how often a job may run. */
  readonly maxAttempts?: number | undefined;
  /** How often to look for jobs whose worker has gone silent. */
  readonly reapIntervalMs?: number | undefined;
  /** How often to look for finished jobs past their `retention`, where there is any. */
  readonly pruneIntervalMs?: number | undefined;
  /** How long a handler may go on after its signal has aborted before its slot is given away. */
  readonly abortGraceMs?: number | undefined;
  /** How long `stop` lets running jobs go on before it aborts them; see `StopOptions`. */
  readonly stopDeadlineMs?: number | undefined;
  /** How many results are written at once at most. */
  readonly commitBatchSize?: number | undefined;
  /** How long a result may wait for others to be written with it. */
  readonly commitLingerMs?: number | undefined;
}

export interface StopOptions {
  /**
   * Overrides `stopDeadlineMs`. Counts from the call. Handlers that still run then are aborted and have `abortGraceMs`
   * to react. Claims on their way, results and subscriptions have until the deadline, and at least two seconds after
   * the last handler ended. So `stop` takes at most `deadlineMs` + `abortGraceMs` + 2 s, whatever the store does.
   */
  readonly deadlineMs?: number | undefined;
}

export interface StopResult {
  /** Every running job ended by itself before the deadline, every result was written, and every claim was answered. */
  readonly clean: boolean;
  /** Jobs that were claimed but not begun, given back without costing an attempt. */
  readonly releasedJobs: number;
  /** Jobs aborted at the deadline and given back. */
  readonly abortedJobs: number;
  /** Handlers that did not react to their abort within the grace period. Their results are fenced off. */
  readonly abandonedJobs: number;
  /**
   * Results, and jobs to give back, that could not be written while stopping, because the store was not reachable in
   * time. Their leases run out, and other workers run these jobs again.
   */
  readonly unwrittenResults: number;
}

export interface WorkerHealth {
  readonly workerId: string;
  readonly state: "running" | "stopping" | "stopped";
  /** False when some loop of the worker has not come round for far too long, or the store does not answer. */
  readonly healthy: boolean;
  /** For people; empty when healthy. */
  readonly problems: readonly string[];
  readonly runningJobs: number;
  readonly bufferedJobs: number;
  readonly uncommittedResults: number;
  readonly lastClaimAt: Date | null;
  readonly lastRenewalAt: Date | null;
}

export interface RunningWorker {
  readonly workerId: string;
  /**
   * Claims nothing more, lets running jobs finish until the deadline, writes all results. Never rejects, and returns
   * in bounded time; see `StopOptions`. May be called again; the result is the same.
   */
  stop(options?: StopOptions): Promise<StopResult>;
  health(): WorkerHealth;
}
