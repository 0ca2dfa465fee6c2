import { createDeferred } from "../base/async.ts";
import { type Backoff, repeat } from "../base/backoff.ts";
import type { LeaseholdError } from "../base/errors.ts";
import { requireFunction } from "../base/options.ts";
import type { Clock } from "../base/runtime.ts";
import { type AfterCommit, runInScope } from "../engine/engine.ts";
import { runAtomicallyOnce } from "../engine/operation.ts";
import {
  type BatchCompletion,
  completeBatchInTransaction,
  completeInTransaction,
  type Completion,
  type CompletionCallback,
  type CompletionRequest,
} from "../jobs/complete.ts";
import type { TransactionOptions } from "../store/contract/calls.ts";
import type { LockResult } from "../store/contract/claims.ts";
import { JobAttemptEndedError } from "../store/errors.ts";
import { loseLeaseTo, loseOutcomeTo, reportRepeated } from "./attempt-events.ts";
import type { BatchMember } from "./batches/member.ts";
import type { WorkerContext } from "./context.ts";
import { type HeldJob, isLeaseTrusted } from "./held-jobs.ts";
import { isOutcomeError } from "./outcome.ts";
import type { AttemptGuard, HandedOutCall } from "./session-guard.ts";

/** How often a transaction of a handler is run within one attempt, the first time included. */
export const mostTransactionRuns = 5;

// Full jitter, so that two transactions that deadlocked do not collide again.
const repeatDelay: Backoff = { firstMs: 40, longestMs: 500, jitter: "full" };

export interface TransactionRetry {
  /** Runs the transaction again where it failed with a transient error, unless `isRepeatable` says no. */
  run<T>(
    operation: HandedOutCall,
    transaction: () => Promise<T>,
    isRepeatable?: (error: unknown) => boolean,
  ): Promise<T>;
  /** The transient error that was left in the end. */
  readonly transientFailure: { readonly error: unknown } | undefined;
  noteTransientFailure(error: unknown): void;
}

/**
 * A deadlock, a serialisation failure, a lost connection: the store rolled back for reasons that have nothing to do with the
 * handler, and the transaction can be run again. That needs no new attempt while the lease is held.
 */
export const createTransactionRetry = (
  worker: WorkerContext,
  jobs: readonly HeldJob[],
  guard: AttemptGuard,
): TransactionRetry => {
  const { store, observe, runtime } = worker.engine;
  const { clock } = runtime;
  let transientFailure: { readonly error: unknown } | undefined;

  const isTransient = (error: unknown): boolean =>
    !isOutcomeError(error) && (store.isTransientError(error) || store.isConflictRollback(error));

  const isLeaseHeld = (): boolean => jobs.some((held) => isLeaseTrusted(held, clock));

  return {
    run: (operation, transaction, isRepeatable) => {
      const options = {
        delay: repeatDelay,
        isRepeatable: (error: unknown, run: number): boolean => {
          if (!isTransient(error)) return false;
          if (run < mostTransactionRuns && isRepeatable?.(error) !== false && isLeaseHeld()) return true;
          transientFailure = { error };
          return false;
        },
        wait: async (delayMs: number, error: unknown, run: number): Promise<void> => {
          for (const held of jobs) reportRepeated(observe, worker, held, { operation, run, error });
          await pause(clock, delayMs, guard);
          guard.checkStillRunning();
        },
      };
      return repeat(runtime, options, transaction);
    },
    noteTransientFailure: (error) => {
      if (isTransient(error)) transientFailure = { error };
    },
    get transientFailure() {
      return transientFailure;
    },
  };
};

const pause = async (clock: Clock, ms: number, guard: AttemptGuard): Promise<void> => {
  const over = createDeferred<void>();
  const cancel = clock.setTimer(over.resolve, ms);
  try {
    await guard.whileOpen(over.promise);
  } finally {
    cancel();
  }
};

/** A completion that was asked to commit; until that is answered, nobody knows whether it has. */
interface UnknownCommit {
  readonly completion: Completion;
  readonly afterCommit: AfterCommit;
}

/** A transaction that `prepare({ mode: "atomic" })` opened and `complete` will end. */
export interface OpenTransaction {
  /** What the callback of `prepare` returned. */
  readonly prepared: Promise<unknown>;
  complete(callback: CompletionCallback): Promise<void>;
  rollBack(reason: LeaseholdError): void;
}

export interface AttemptTransactions {
  prepareStaged(callback: unknown, options: TransactionOptions | undefined): Promise<unknown>;
  prepareAtomic(callback: unknown, options: TransactionOptions | undefined): OpenTransaction;
  complete(callback: CompletionCallback, options: TransactionOptions | undefined): Promise<void>;
}

/** The transactions of one attempt. Each locks the job first: only the holder of the lease commits anything. */
export const createAttemptTransactions = (
  worker: WorkerContext,
  held: HeldJob,
  guard: AttemptGuard,
  retry: TransactionRetry,
): AttemptTransactions => {
  const { engine, settings } = worker;
  const { job, leaseToken } = held;
  const leases = [{ jobId: job.id, leaseToken }];

  const lock = async (ctx: object, lose: typeof loseLeaseTo): Promise<void> => {
    const [result] = await engine.store.lockHeldJobs({ ctx, leases });
    if (result!.kind === "refused") throw lose(worker, held, result!);
  };

  /**
   * Whether the completion took effect although its commit was not answered. The lock waits for the transaction if it
   * is still about to end; a job that can be locked has not been completed, and never will be by that transaction.
   */
  const wasCommitted = async ({ completion, afterCommit }: UnknownCommit): Promise<boolean> => {
    const [result] = await engine.store.runInTransaction((ctx) => engine.store.lockHeldJobs({ ctx, leases }));
    if (result!.kind === "locked") return false;
    // A completed job stays as it is, so writing the outcome again only tells whose completion it was.
    const outcomes = [{ ...completion.outcome, locked: false }];
    const [again] = result!.status === "completed" ? await engine.store.commitOutcomes({ outcomes }) : [];
    if (again?.kind !== "repeated") throw loseOutcomeTo(worker, held, result!);
    afterCommit.publish();
    return true;
  };

  const completionRequest = (callback: CompletionCallback): CompletionRequest => ({
    job,
    leaseToken,
    workerId: settings.workerId,
    callback: (options) => guard.whileOpen(callback(options)),
    checkStillWanted: () => guard.checkStillRunning(),
  });

  const complete: AttemptTransactions["complete"] = (callback, options) => {
    let doubt: UnknownCommit | undefined;
    const transaction = async (ctx: object, afterCommit: AfterCommit): Promise<void> => {
      await lock(ctx, loseOutcomeTo);
      guard.assertHandlerRunning();
      const completion = await completeInTransaction(engine, ctx, afterCommit, completionRequest(callback));
      doubt = { completion, afterCommit };
    };
    const run = (): Promise<void> => runAtomicallyOnce(engine, "complete", undefined, transaction, options);
    const resolveUnknownCommit = async (open: UnknownCommit): Promise<void> => {
      if (await wasCommitted(open)) return;
      doubt = undefined;
      await run();
    };
    return retry.run("complete", () => (doubt ? resolveUnknownCommit(doubt) : run()));
  };

  const runPrepare = async (ctx: object, callback: unknown): Promise<unknown> => {
    await lock(ctx, loseLeaseTo);
    guard.assertHandlerRunning();
    if (callback === undefined) return undefined;
    const run = requireFunction<(ctx: object) => unknown>(callback, "prepare callback");
    const origin = { jobId: job.id, rootSequenceId: job.rootSequenceId };
    const result = await guard.whileOpen(runInScope(engine, { origin }, async () => run({ ...ctx })));
    guard.assertHandlerRunning();
    return result;
  };

  /** Nothing tells afterwards whether a transaction committed that left the job as it was, unless the error does. */
  const prepareStaged: AttemptTransactions["prepareStaged"] = (callback, options) => {
    let mayHaveCommitted = false;
    const transaction = async (ctx: object): Promise<unknown> => {
      mayHaveCommitted = false;
      const result = await runPrepare(ctx, callback);
      mayHaveCommitted = true;
      return result;
    };
    return retry.run(
      "prepare",
      () => runAtomicallyOnce(engine, "prepare", undefined, transaction, options),
      (error) => !mayHaveCommitted || engine.store.isConflictRollback(error),
    );
  };

  /** The handler works with what `prepare` read: once it has that, the transaction cannot be run again without it. */
  const prepareAtomic: AttemptTransactions["prepareAtomic"] = (callback, options) => {
    const prepared = createDeferred<unknown>();
    const ending = createDeferred<CompletionCallback>();
    let handedOut = false;
    let doubt: UnknownCommit | undefined;
    const transaction = async (ctx: object, afterCommit: AfterCommit): Promise<void> => {
      const result = await runPrepare(ctx, callback);
      handedOut = true;
      prepared.resolve(result);
      const request = completionRequest(await ending.promise);
      doubt = { completion: await completeInTransaction(engine, ctx, afterCommit, request), afterCommit };
    };
    const done = retry.run(
      "prepare",
      () => runAtomicallyOnce(engine, "prepare", undefined, transaction, options),
      () => !handedOut,
    );
    done.catch((error: unknown) => prepared.reject(error));
    return {
      prepared: prepared.promise,
      complete: async (completionCallback) => {
        ending.resolve(completionCallback);
        try {
          await done;
        } catch (error) {
          const lost = retry.transientFailure && doubt;
          if (!lost || !(await retry.run("complete", () => wasCommitted(lost)))) throw error;
        }
      },
      rollBack: (reason) => {
        // Whoever waits for these handles the rejection; that nobody waits any more is no error.
        ending.promise.catch(() => {});
        ending.reject(reason);
      },
    };
  };

  return { prepareStaged, prepareAtomic, complete };
};

/** Completions that were asked to commit; until that is answered, nobody knows whether they have. */
interface UnknownBatchCommit {
  readonly locked: readonly BatchMember[];
  readonly completion: BatchCompletion;
  readonly afterCommit: AfterCommit;
}

export interface CompletedBatch {
  /** Those that the transaction held: completed, but for those that failed. */
  readonly locked: readonly BatchMember[];
  /** What the callback had them fail with, by job id. */
  readonly failures: BatchCompletion["failures"];
}

/** Jobs of the batch were lost while the callback ran. What it wrote for them must not be committed. */
class JobsLostMeanwhile extends Error {}

const leaseOn = ({ held }: BatchMember): { jobId: string; leaseToken: string } => ({
  jobId: held.job.id,
  leaseToken: held.leaseToken,
});

const isOfCompleted = (result: LockResult): boolean =>
  result.kind === "refused" && result.status === "completed";

/**
 * The transaction of a batch: locks all jobs, runs the callback for those that are held, and completes them, in one
 * commit. What is lost before the lock, the callback never sees. What is lost after it, but before the commit, has the
 * transaction run again without it.
 */
export const completeBatch = (
  worker: WorkerContext,
  members: readonly BatchMember[],
  guard: AttemptGuard,
  retry: TransactionRetry,
  callback: CompletionCallback,
  options: TransactionOptions | undefined,
): Promise<CompletedBatch> => {
  const { engine, settings } = worker;
  const { store } = engine;
  let doubt: UnknownBatchCommit | undefined;

  const lockWanted = async (ctx: object): Promise<BatchMember[]> => {
    const wanted = members.filter(({ isWanted }) => isWanted);
    const results = await store.lockHeldJobs({ ctx, leases: wanted.map(leaseOn) });
    let refused: LeaseholdError | undefined;
    const locked = wanted.filter((member, index) => {
      const result = results[index]!;
      if (result.kind === "refused") refused = loseOutcomeTo(worker, member.held, result);
      return result.kind === "locked";
    });
    if (locked.length > 0) return locked;
    throw (
      refused ?? new JobAttemptEndedError(members[0]!.held.job.id, "no job of the batch is held any more")
    );
  };

  const transaction = async (ctx: object, afterCommit: AfterCommit): Promise<void> => {
    const locked = await lockWanted(ctx);
    guard.assertHandlerRunning();
    const completion = await completeBatchInTransaction(engine, ctx, afterCommit, {
      locked: locked.map(({ held, view }) => ({ job: held.job, leaseToken: held.leaseToken, view: view! })),
      workerId: settings.workerId,
      callback: (given) => guard.whileOpen(callback(given)),
      checkStillWanted: () => {
        guard.checkStillRunning();
        if (!locked.every(({ isWanted }) => isWanted)) throw new JobsLostMeanwhile();
      },
    });
    doubt = { locked, completion, afterCommit };
  };

  /** Each run has fewer jobs than the one before. */
  const runWithoutLost = async (): Promise<void> => {
    try {
      await runAtomicallyOnce(engine, "complete", undefined, transaction, options);
    } catch (error) {
      if (!(error instanceof JobsLostMeanwhile)) throw error;
      await runWithoutLost();
    }
  };

  /**
   * Whether the completions took effect although their commit was not answered: all of them or none, since they were one
   * transaction. The locks wait for it if it is still about to end.
   */
  const wasCommitted = async ({ locked, completion, afterCommit }: UnknownBatchCommit): Promise<boolean> => {
    const completed = locked.filter(({ held }) => !completion.failures.has(held.job.id));
    if (completed.length === 0) return true;
    const leases = completed.map(leaseOn);
    const results = await store.runInTransaction((ctx) => store.lockHeldJobs({ ctx, leases }));
    if (results.some(({ kind }) => kind === "locked")) return false;
    // A completed job stays as it is, so writing the outcome again only tells whose completion it was.
    const ended = new Set(
      leases.filter((_lease, index) => isOfCompleted(results[index]!)).map(({ jobId }) => jobId),
    );
    const outcomes = completion.outcomes
      .filter(({ jobId }) => ended.has(jobId))
      .map((outcome) => ({ ...outcome, locked: false }));
    const again = outcomes.length > 0 ? await store.commitOutcomes({ outcomes }) : [];
    if (again.some(({ kind }) => kind === "repeated")) {
      afterCommit.publish();
      return true;
    }
    let refused: LeaseholdError | undefined;
    for (const [index, result] of results.entries()) {
      if (result.kind === "refused") refused = loseOutcomeTo(worker, completed[index]!.held, result);
    }
    throw refused!;
  };

  const resolveUnknownCommit = async (open: UnknownBatchCommit): Promise<void> => {
    if (await wasCommitted(open)) return;
    doubt = undefined;
    await runWithoutLost();
  };

  return retry
    .run("complete", () => (doubt ? resolveUnknownCommit(doubt) : runWithoutLost()))
    .then(() => ({ locked: doubt!.locked, failures: doubt!.completion.failures }));
};
