import {
  completeInTransaction,
  type Completion,
  type CompletionCallback,
  type CompletionRequest,
} from "../engine/complete.ts";
import type { AfterCommit } from "../engine/after-commit.ts";
import { runInScope } from "../engine/engine.ts";
import type { TransactionOptions } from "../contracts/state-adapter.ts";
import { runAtomicallyOnce } from "../engine/transaction.ts";
import type { LeaseholdError } from "../errors.ts";
import { requireFunction } from "../model/option-checks.ts";
import { createDeferred } from "./deferred.ts";
import type { HeldJob } from "./held-jobs.ts";
import { loseLeaseTo, loseOutcomeTo } from "./lost-lease.ts";
import type { AttemptGuard, TransactionRetry } from "./retry-when-rolled-back.ts";
import type { WorkerContext } from "./worker-context.ts";

/** A completion that was asked to commit; until that is answered, nobody knows whether it has. */
interface Doubt {
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
  const tookEffect = async ({ completion, afterCommit }: Doubt): Promise<boolean> => {
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
    let doubt: Doubt | undefined;
    const transaction = async (ctx: object, afterCommit: AfterCommit): Promise<void> => {
      await lock(ctx, loseOutcomeTo);
      guard.checkNotForsaken();
      const completion = await completeInTransaction(engine, ctx, afterCommit, completionRequest(callback));
      doubt = { completion, afterCommit };
    };
    const run = (): Promise<void> => runAtomicallyOnce(engine, "complete", undefined, transaction, options);
    const settleDoubt = async (open: Doubt): Promise<void> => {
      if (await tookEffect(open)) return;
      doubt = undefined;
      await run();
    };
    return retry.run("complete", () => (doubt ? settleDoubt(doubt) : run()));
  };

  const runPrepare = async (ctx: object, callback: unknown): Promise<unknown> => {
    await lock(ctx, loseLeaseTo);
    guard.checkNotForsaken();
    if (callback === undefined) return undefined;
    const run = requireFunction<(ctx: object) => unknown>(callback, "prepare callback");
    const origin = { jobId: job.id, rootSequenceId: job.rootSequenceId };
    const result = await guard.whileOpen(runInScope(engine, { origin }, async () => run({ ...ctx })));
    guard.checkNotForsaken();
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
      (error) => !mayHaveCommitted || engine.store.isRolledBackForOthers(error),
    );
  };

  /** The handler works with what `prepare` read: once it has that, the transaction cannot be run again without it. */
  const prepareAtomic: AttemptTransactions["prepareAtomic"] = (callback, options) => {
    const prepared = createDeferred<unknown>();
    const ending = createDeferred<CompletionCallback>();
    let handedOut = false;
    let doubt: Doubt | undefined;
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
          if (!lost || !(await retry.run("complete", () => tookEffect(lost)))) throw error;
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
