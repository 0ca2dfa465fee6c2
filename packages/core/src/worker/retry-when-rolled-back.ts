import type { Clock } from "../clock.ts";
import { reportRepeated } from "./attempt-events.ts";
import { isVerdict } from "./decide-outcome.ts";
import { createDeferred } from "./deferred.ts";
import { type HeldJob, isLeaseTrusted } from "./held-jobs.ts";
import type { HandedOutCall } from "./handed-out-calls.ts";
import type { WorkerContext } from "./worker-context.ts";

/** How often a transaction of a handler is run within one attempt, the first time included. */
export const mostTransactionRuns = 5;
const firstPauseMs = 20;
const longestPauseMs = 500;

/** What the attempt allows. */
export interface AttemptGuard {
  /** Throws when the attempt has been aborted or is over. */
  checkStillRunning(): void;
  /** Throws when the handler has settled before its calls: their transactions must not commit. */
  checkNotForsaken(): void;
  /** Rejects when the attempt ends, so that a callback that never settles does not keep its transaction open. */
  whileOpen<T>(work: T | Promise<T>): Promise<T>;
}

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
  const { clock, random } = runtime;
  let transientFailure: { readonly error: unknown } | undefined;

  // Full jitter, so that two transactions that deadlocked do not meet again.
  const pauseMs = (run: number): number => random() * Math.min(firstPauseMs * 2 ** run, longestPauseMs);

  const isTransient = (error: unknown): boolean => !isVerdict(error) && store.isTransientError(error);

  const runAgain = async <T>(
    operation: HandedOutCall,
    transaction: () => Promise<T>,
    isRepeatable: (error: unknown) => boolean,
    firstError: unknown,
  ): Promise<T> => {
    let error = firstError;
    for (let run = 1; isTransient(error); run += 1) {
      if (
        run >= mostTransactionRuns ||
        !isRepeatable(error) ||
        !jobs.some((held) => isLeaseTrusted(held, clock))
      ) {
        transientFailure = { error };
        break;
      }
      for (const held of jobs) reportRepeated(observe, worker, held, { operation, run, error });
      await pause(clock, pauseMs(run), guard);
      guard.checkStillRunning();
      try {
        return await transaction();
      } catch (nextError) {
        error = nextError;
      }
    }
    throw error;
  };

  return {
    // No loop around the first run: every promise costs, and nearly all transactions succeed at once.
    run: (operation, transaction, isRepeatable = () => true) =>
      transaction().catch((error: unknown) => runAgain(operation, transaction, isRepeatable, error)),
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
