import type { LockResult, TransactionOptions } from "../contracts/state-adapter.ts";
import type { AfterCommit } from "../engine/after-commit.ts";
import type { CompletionCallback } from "../engine/complete.ts";
import { type BatchCompletion, completeBatchInTransaction } from "../engine/complete-batch.ts";
import { runAtomicallyOnce } from "../engine/transaction.ts";
import { JobAttemptEndedError, type LeaseholdError } from "../errors.ts";
import type { BatchMember } from "./batch-member.ts";
import { loseOutcomeTo } from "./lost-lease.ts";
import type { AttemptGuard, TransactionRetry } from "./retry-when-rolled-back.ts";
import type { WorkerContext } from "./worker-context.ts";

/** Completions that were asked to commit; until that is answered, nobody knows whether they have. */
interface Doubt {
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
  let doubt: Doubt | undefined;

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
    guard.checkNotForsaken();
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
  const tookEffect = async ({ locked, completion, afterCommit }: Doubt): Promise<boolean> => {
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

  const settleDoubt = async (open: Doubt): Promise<void> => {
    if (await tookEffect(open)) return;
    doubt = undefined;
    await runWithoutLost();
  };

  return retry
    .run("complete", () => (doubt ? settleDoubt(doubt) : runWithoutLost()))
    .then(() => ({ locked: doubt!.locked, failures: doubt!.completion.failures }));
};
