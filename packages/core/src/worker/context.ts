import type { Backoff } from "../base/backoff.ts";
import type { Engine } from "../engine/engine.ts";
import type { RetryPolicy } from "../job-types/retry-policy.ts";
import type { Listening } from "../notify/notifier.ts";
import type { MaxAttempts } from "../store/contract/claims.ts";
import type { CrashIsolation, HeldJobs, WakeUps } from "./held-jobs.ts";

export type HandlerFunction = (options: object) => unknown;

/** How the jobs of a type are put together. */
export interface BatchSettings {
  readonly maxSize: number;
  readonly maxWaitMs: number;
  readonly sameGroup: boolean;
}

/** One implemented job type, with the middleware already around its handler. */
export interface Handler {
  readonly run: HandlerFunction;
  readonly retry: RetryPolicy | undefined;
  readonly maxAttempts: number | undefined;
  readonly timeoutMs: number | undefined;
  /** Undefined for a handler that gets one job at a time. */
  readonly batch: BatchSettings | undefined;
}

export interface QueueSettings {
  readonly name: string;
  readonly concurrency: number;
  /** Claim jobs of every type, and fail jobs without a handler here. */
  readonly claimAllTypes: boolean;
}

export interface WorkerSettings {
  readonly workerId: string;
  readonly concurrency: number;
  readonly queues: readonly QueueSettings[];
  readonly prefetch: number;
  readonly pollIntervalMs: number;
  readonly leaseMs: number;
  /** For types that have no policy of their own. */
  readonly retry: RetryPolicy | undefined;
  readonly maxAttempts: number | undefined;
  readonly reapIntervalMs: number;
  readonly pruneIntervalMs: number;
  /** Undefined: an idle worker keeps its intervals. */
  readonly idleSleepMs: number | undefined;
  readonly abortGraceMs: number;
  readonly stopDeadlineMs: number;
  readonly commitBatchSize: number;
  readonly commitLingerMs: number;
  /** Of the loops, after the store has failed. */
  readonly loopBackoff: Backoff;
}

/** What the parts of one running worker share. */
export interface WorkerContext {
  readonly engine: Engine;
  /** Of all notifications, or only of those of this process. */
  readonly listening: Listening;
  readonly settings: WorkerSettings;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly held: HeldJobs;
  readonly wakeUps: WakeUps;
  /** Whether the worker sends no statement until something is due, or until `idleSleepMs` is over. */
  readonly sleep: { isAsleep: boolean };
  readonly crashIsolation: CrashIsolation;
  /** By type, of the handlers that set it; undefined where none does. */
  readonly maxAttempts: MaxAttempts | undefined;
}
