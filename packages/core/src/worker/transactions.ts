import { createDeferred } from "../base/async.ts";
import { type Backoff, repeat } from "../base/backoff.ts";
import type { LeaseholdError } from "../base/errors.ts";
import { requireFunction } from "../base/options.ts";
import type { Clock } from "../base/runtime.ts";
import { type AfterCommit, runInScope } from "../engine/engine.ts";
import { runAtomicallyOnce } from "../engine/operation.ts";
import { findLostCommit } from "../engine/lost-replies.ts";
import {
  announceLostCompletion,
  completeAll,
  type Completion,
  type CompletionCallback,
} from "../jobs/complete.ts";
import type { JobView } from "../jobs/view.ts";
import type { TransactionOptions } from "../store/contract/calls.ts";
import { JobAttemptEndedError } from "../store/errors.ts";
import { attemptEventData, loseLeaseTo, loseOutcomeTo, reportRepeated } from "./attempt-events.ts";
import type { WorkerContext } from "./context.ts";
import { type HeldJob, isLeaseTrusted } from "./held-jobs.ts";
import { isOutcomeError } from "./outcome.ts";
import type { AttemptGuard, HandedOutCall } from "./session-guard.ts";

/** Runs of a transaction of a handler within one attempt, the first included. */
export const mostTransactionRuns = 5;

// Full jitter, so that two transactions that deadlocked do not collide again.
const repeatDelay: Backoff = { firstMs: 40, longestMs: 500, jitter: "full" };

export interface TransactionRetry {
  /** Repeats the transaction after a transient error that `isRepeatable` accepts. */
  run<T>(
    operation: HandedOutCall,
    transaction: () => Promise<T>,
    isRepeatable?: (error: unknown) => boolean,
  ): Promise<T>;
  /** The transient error of the last run. */
  transientFailure(): { readonly error: unknown } | undefined;
  noteTransientFailure(error: unknown): void;
}

/**
 * Repeats transactions with user code after a deadlock, a serialisation failure or a lost connection: the handler is not the
 * reason, and while a lease is held no new attempt is needed.
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
    transientFailure: () => transientFailure,
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

/** One job of the call of a handler. */
export interface CallMember {
  readonly held: HeldJob;
  /** The job as the handler gets it. */
  readonly view: JobView | undefined;
  /** Whether a result of the handler is still wanted for this job. */
  readonly isWanted: boolean;
  /** Set when the transaction of `complete` has completed the job. */
  completed: boolean;
}

/** The jobs that a handler is called with: one, or several where it is a batch handler. */
export interface HandlerCall {
  readonly members: readonly CallMember[];
  readonly isBatch: boolean;
}

/** What `complete` has committed. */
export interface CompletedCall {
  /** The jobs that the transaction held: completed, except for those in `failures`. */
  readonly locked: readonly CallMember[];
  /** The errors that the callback returned for jobs, by job id. */
  readonly failures: Completion["failures"];
  /** The completions that were written. */
  readonly outcomes: Completion["outcomes"];
  readonly at: number;
}

/** A completion whose commit was sent but not acknowledged. It may have been applied. */
interface UnknownCommit {
  readonly locked: readonly CallMember[];
  readonly completion: Completion;
  readonly afterCommit: AfterCommit;
  /** The store has answered, and the answer is in `afterCommit`. */
  isAnnounced: boolean;
  /** When the jobs were completed, by the store's clock where that is known. */
  at: number | null;
}

/** Jobs of the call were lost while the callback ran. What it wrote for them must not be committed. */
class JobsLostMeanwhile extends Error {}

/** A transaction that `prepare({ mode: "atomic" })` opened and `complete` will end. */
export interface OpenTransaction {
  /** What the callback of `prepare` returned. */
  readonly prepared: Promise<unknown>;
  complete(callback: CompletionCallback): Promise<CompletedCall>;
  rollBack(reason: LeaseholdError): void;
}

export interface CallTransactions {
  prepareStaged(callback: unknown, options: TransactionOptions | undefined): Promise<unknown>;
  prepareAtomic(callback: unknown, options: TransactionOptions | undefined): OpenTransaction;
  complete(callback: CompletionCallback, options: TransactionOptions | undefined): Promise<CompletedCall>;
}

const leaseOn = ({ held }: CallMember): { jobId: string; leaseToken: string } => ({
  jobId: held.job.id,
  leaseToken: held.leaseToken,
});

/**
 * The transactions of one call of a handler. Each locks the jobs first: only the holder of a lease commits anything. Jobs lost
 * before the lock are left out. If a job is lost between the lock and the commit, the transaction runs again without it.
 */
export const createCallTransactions = (
  worker: WorkerContext,
  { members, isBatch }: HandlerCall,
  guard: AttemptGuard,
  retry: TransactionRetry,
): CallTransactions => {
  const { engine, settings } = worker;
  const { store } = engine;

  const lock = async (ctx: object, lose: typeof loseLeaseTo): Promise<readonly CallMember[]> => {
    const wanted = members.filter(({ isWanted }) => isWanted);
    const results = await store.lockHeldJobs({ ctx, leases: wanted.map(leaseOn) });
    let refused: LeaseholdError | undefined;
    const locked = wanted.filter((member, index) => {
      const result = results[index]!;
      if (result.kind === "refused") refused = lose(worker, member.held, result);
      return result.kind === "locked";
    });
    if (locked.length === 0)
      throw refused ?? new JobAttemptEndedError(members[0]!.held.job.id, "it is no longer held");
    guard.assertHandlerRunning();
    return locked;
  };

  /** `onSend` gets the completion before it is sent, because the store may commit it together with the outcomes. */
  const completeLocked = async (
    ctx: object,
    afterCommit: AfterCommit,
    locked: readonly CallMember[],
    callback: CompletionCallback,
    onSend: (unknown: UnknownCommit) => void,
  ): Promise<void> => {
    let unknown: UnknownCommit | undefined;
    const { at } = await completeAll(engine, ctx, afterCommit, {
      members: locked.map(({ held, view }) => ({
        job: held.job,
        leaseToken: held.leaseToken,
        view,
        attempt: () => attemptEventData(worker, held),
      })),
      isBatch,
      workerId: settings.workerId,
      callback: (options) => guard.whileOpen(callback(options)),
      beforeWrite: (completion) => {
        guard.checkStillRunning();
        if (!locked.every(({ isWanted }) => isWanted)) throw new JobsLostMeanwhile();
        unknown = { locked, completion, afterCommit, isAnnounced: false, at: null };
        onSend(unknown);
      },
      isLast: true,
    });
    unknown!.isAnnounced = true;
    unknown!.at = at;
  };

  /** Whether the completions were committed: all of them or none, since they were one transaction. */
  const wasCommitted = async (unknown: UnknownCommit): Promise<boolean> => {
    const { locked, completion, afterCommit } = unknown;
    const { clock } = engine.runtime;
    const answer = await findLostCommit(store, completion.outcomes, () =>
      locked.every(({ held }) => clock.monotonic() < held.leaseEndsAt),
    );
    if (answer.kind === "open") return false;
    if (answer.kind === "committed") {
      if (!unknown.isAnnounced) announceLostCompletion(afterCommit, completion, clock.now());
      afterCommit.publish();
      return true;
    }
    const heldById = new Map(locked.map(({ held }) => [held.job.id, held]));
    let error: LeaseholdError | undefined;
    for (const [jobId, refusal] of answer.refusals)
      error = loseOutcomeTo(worker, heldById.get(jobId)!, refusal);
    throw error!;
  };

  const completed = ({ locked, completion, at }: UnknownCommit): CompletedCall => ({
    locked,
    failures: completion.failures,
    outcomes: completion.outcomes,
    at: at ?? engine.runtime.clock.now(),
  });

  const complete: CallTransactions["complete"] = (callback, options) => {
    let unknown: UnknownCommit | undefined;
    const remember = (sent: UnknownCommit): void => {
      unknown = sent;
    };
    const transaction = async (ctx: object, afterCommit: AfterCommit): Promise<void> => {
      await completeLocked(ctx, afterCommit, await lock(ctx, loseOutcomeTo), callback, remember);
    };
    /** Each run has fewer jobs than the one before. */
    const runWithoutLost = async (): Promise<void> => {
      try {
        await runAtomicallyOnce(engine, "complete", undefined, transaction, {
          ...options,
          beginsWithCall: true,
        });
      } catch (error) {
        if (!(error instanceof JobsLostMeanwhile)) throw error;
        await runWithoutLost();
      }
    };
    const run = async (): Promise<CompletedCall> => {
      if (!unknown || !(await wasCommitted(unknown))) {
        unknown = undefined;
        try {
          await runWithoutLost();
        } catch (error) {
          if (store.isConflictRollback(error)) unknown = undefined;
          throw error;
        }
      }
      return completed(unknown!);
    };
    return retry.run("complete", run);
  };

  /** Only handlers of one job have `prepare`. */
  const runPrepare = async (ctx: object, callback: unknown): Promise<unknown> => {
    await lock(ctx, loseLeaseTo);
    if (callback === undefined) return undefined;
    const run = requireFunction<(ctx: object) => unknown>(callback, "prepare callback");
    const { id, rootSequenceId } = members[0]!.held.job;
    const origin = { jobId: id, rootSequenceId };
    const result = await guard.whileOpen(runInScope(engine, { origin }, async () => run({ ...ctx })));
    guard.assertHandlerRunning();
    return result;
  };

  /** The store does not show whether a transaction that left the job unchanged was committed; only the error may. */
  const prepareStaged: CallTransactions["prepareStaged"] = (callback, options) => {
    let mayHaveCommitted = false;
    const transaction = async (ctx: object): Promise<unknown> => {
      mayHaveCommitted = false;
      const result = await runPrepare(ctx, callback);
      mayHaveCommitted = true;
      return result;
    };
    return retry.run(
      "prepare",
      () =>
        runAtomicallyOnce(engine, "prepare", undefined, transaction, { ...options, beginsWithCall: true }),
      (error) => !mayHaveCommitted || store.isConflictRollback(error),
    );
  };

  /** Once the handler has what `prepare` read, the transaction cannot be repeated without the handler. */
  const prepareAtomic: CallTransactions["prepareAtomic"] = (callback, options) => {
    const prepared = createDeferred<unknown>();
    const ending = createDeferred<CompletionCallback>();
    let handedOut = false;
    let unknown: UnknownCommit | undefined;
    const transaction = async (ctx: object, afterCommit: AfterCommit): Promise<void> => {
      const result = await runPrepare(ctx, callback);
      handedOut = true;
      prepared.resolve(result);
      await completeLocked(ctx, afterCommit, members, await ending.promise, (sent) => {
        unknown = sent;
      });
    };
    const done = retry.run(
      "prepare",
      () =>
        runAtomicallyOnce(engine, "prepare", undefined, transaction, { ...options, beginsWithCall: true }),
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
          const lost = store.isConflictRollback(error) ? undefined : retry.transientFailure() && unknown;
          if (!lost || !(await retry.run("complete", () => wasCommitted(lost)))) throw error;
        }
        return completed(unknown!);
      },
      rollBack: (reason) => {
        // Callers handle the rejection. If no caller is left, it is ignored.
        ending.promise.catch(() => {});
        ending.reject(reason);
      },
    };
  };

  return { prepareStaged, prepareAtomic, complete };
};
