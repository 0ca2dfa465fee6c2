import type { AsyncScope } from "../base/async.ts";
import type { Codec } from "../base/codec.ts";
import type { Runtime } from "../base/runtime.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import type { JobTypeRegistry, Retention } from "../job-types/registry.ts";
import type { ResolvedDefaults } from "../job-types/settings.ts";
import type { NotificationKind } from "../notify/contract.ts";
import type { Listening, NotificationBatch, Notifier } from "../notify/notifier.ts";
import type { Observe, Tracer } from "../observability/observe.ts";
import type { FailureReason } from "../store/contract/job.ts";
import type { StateStore } from "./dispatch.ts";

/** What can happen to a job, once for each time. A reason: it failed for that. */
export type Counter = "created" | "completed" | "retried" | "released" | "reaped" | FailureReason;

/** Jobs of one type in one queue. */
export interface StatisticsKey {
  readonly queue: string;
  readonly typeName: string;
}

/** Adds up what happens, in memory. It is called for every job, so it does as little as possible. */
export interface Tally {
  /** False where no report is written. */
  readonly isOn: boolean;
  add(key: StatisticsKey, counter: Counter): void;
  /** An attempt has ended. `waitedMs` is the time from when the job could have run until it was claimed. */
  addAttempt(key: StatisticsKey, waitedMs: number, ranMs: number): void;
}

/**
 * What a transaction wants the world to know once it has committed: notifications, events, and what the statistics count. They
 * are buffered while it runs and dropped with it on rollback.
 */
export interface AfterCommit {
  /** Queues a notification for this job type, sequence or job, sent after the commit. */
  notify(kind: NotificationKind, name: string): void;
  readonly observe: Observe;
  /** Adds one to what the statistics count. */
  count(key: StatisticsKey, counter: Counter): void;
  /** Moves everything to an outer scope, which then decides about it. */
  moveTo(outer: AfterCommit): void;
  /** False once its transaction or callback has ended: what is moved here later would not be published. */
  readonly isOpen: boolean;
  close(): void;
  /** Sends everything, once. */
  publish(): void;
  /** Reports and counts only: notifications cannot be sent because the time of the commit is unknown. */
  publishEvents(): void;
  readonly notifications: NotificationBatch;
}

/** What errors of the same kind have in common. */
export interface ErrorKind {
  /** Sixteen hexadecimal digits, the same for all errors of the kind. */
  readonly fingerprint: string;
  readonly name: string;
  /** With `#` for ids and numbers, and other placeholders for what differs from one error to the next. */
  readonly message: string;
  /** The function and file that it came from. */
  readonly frame: string | null;
}

/** A worker as its process describes it. */
export interface ReportedWorker {
  readonly id: string;
  readonly concurrency: number;
  readonly queues: readonly {
    readonly name: string;
    readonly concurrency: number;
    readonly claimAllTypes: boolean;
  }[];
  readonly typeNames: readonly string[];
  /** How many jobs it runs at the moment. */
  readonly running: number;
  /** How long it may send no report while it is idle; 0 for a worker that never sleeps. */
  readonly idleSleepMs: number;
}

/**
 * Writes what this process does to the store. Nothing waits for it, and no job fails because of it.
 *
 *   something is counted ──1 s──▶ report ──▶ something was counted meanwhile? ──1 s──▶ report …
 *   a worker runs ──10 s──▶ report
 */
export interface Reporter {
  readonly isOn: boolean;
  readonly tally: Tally;
  /** Its id, once it has reported. */
  readonly id: string | undefined;
  /** Of the workers of this process, the one that does what one of them has to. */
  readonly firstWorkerId: string | undefined;
  /** A kind of error that an attempt ended with. */
  addCause(kind: ErrorKind): void;
  /**
   * `describe` is asked at each report, and `isAsleep` before each heartbeat: it is left out while all workers sleep. Returns what
   * to call when the worker has stopped.
   */
  addWorker(describe: () => ReportedWorker, isAsleep: () => boolean): () => void;
  /** Reports what has been counted so far. Never rejects. */
  flush(): Promise<void>;
  /** Reports for the last time, and waits a second for that at most. */
  close(): Promise<void>;
}

/** As much of a running worker as closing needs. */
export interface StoppableWorker {
  stop(options?: object): Promise<unknown>;
}

/**
 *   open ──close──▶ closing ──workers have stopped──▶ closed
 *
 * While closing, handlers that still run may make calls, but no worker can be started. Once closed, calls are refused.
 */
export interface Lifecycle {
  /** Aborts once closed: for calls that wait. */
  readonly closed: AbortSignal;
  /** Keeps track of the worker, so that `close` can stop it. */
  startWorker<TWorker extends StoppableWorker>(start: () => Promise<TWorker>): Promise<TWorker>;
  close(options?: unknown): Promise<void>;
}

export interface Origin {
  readonly jobId: string;
  readonly rootSequenceId: string;
  /** In a handler: the attempt. */
  readonly attempt?: { readonly abortReason: JobAbortReason | undefined };
  /** A start that belongs to the tree has begun. It may not be visible in the store yet. */
  hasStarted?: boolean;
}

/** What a call inherits from the callback it is made in. */
export interface Scope {
  /** The job whose handler or callback runs: what it starts belongs to its tree. */
  readonly origin?: Origin;
  /** Collects notifications and events until the transaction has committed. */
  readonly afterCommit?: AfterCommit;
  /** The types of the sequences that were started or found here, by id. */
  readonly startedTypes?: Map<string, string>;
  /** The transaction that calls without a context of their own belong to. */
  readonly transaction?: object;
}

/** What every use case needs. Untyped: `leasehold.ts` adds the types of jobs. */
export interface Engine {
  readonly store: StateStore;
  readonly notifier: Notifier;
  readonly listening: Listening;
  /** Only notifications of this process: it needs no connection. */
  readonly listeningInProcess: Listening;
  readonly lifecycle: Lifecycle;
  readonly observe: Observe;
  readonly reporter: Reporter;
  /** That of the reporter. */
  readonly tally: Tally;
  /** Undefined without tracing. */
  readonly tracer: Tracer | undefined;
  readonly runtime: Runtime;
  readonly codec: Codec;
  readonly maxPayloadBytes: number;
  readonly jobTypes: JobTypeRegistry;
  readonly retention: Retention;
  readonly defaults: ResolvedDefaults;
  readonly createId: () => string;
  /** The version of the program that this is part of, as its users call it; null if they have not said. */
  readonly deployment: string | null;
  readonly scope: AsyncScope<Scope>;
}

/** Runs `callback` with additions to the scope it is already in. */
export const runInScope = <T>(engine: Engine, additions: Scope, callback: () => T): T =>
  engine.scope.run({ ...engine.scope.getStore(), ...additions }, callback);
