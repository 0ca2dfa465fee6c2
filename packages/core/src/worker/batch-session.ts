import type { CompletionCallback } from "../engine/complete.ts";
import { parseTransactionOptions } from "../engine/transaction.ts";
import { InvalidOptionError, JobAttemptEndedError, ProcessMisuseError } from "../errors.ts";
import type { JobAbortReason } from "../model/entities.ts";
import { requireFunction } from "../model/option-checks.ts";
import type { BatchMember } from "./batch-member.ts";
import { type CompletedBatch, completeBatch } from "./batch-transaction.ts";
import { completionMark } from "./handler-session.ts";
import type { EndedSession } from "./judge-ending.ts";
import { createTransactionRetry } from "./retry-when-rolled-back.ts";
import { SessionGuard } from "./session-guard.ts";
import type { WorkerContext } from "./worker-context.ts";

/** The transactional side of one call of a batch handler. */
export interface BatchSession extends Omit<EndedSession, "completed"> {
  readonly complete: (callback: unknown, options?: unknown) => Promise<object>;
  /** Checks what the handler has returned. Fails when `complete` is still open or has failed. */
  finish(returned: unknown): Promise<void>;
  /** The handler has thrown. Resolves when `complete` is not open any more. */
  abandon(): Promise<void>;
  /** What `complete` has committed. */
  readonly committed: CompletedBatch | undefined;
  /** No result is waited for any more: rolls back whatever is still open. */
  close(): void;
}

export const createBatchSession = (
  worker: WorkerContext,
  members: readonly BatchMember[],
  getAbortReason: () => JobAbortReason | undefined,
): BatchSession => {
  const jobId = members[0]!.held.job.id;
  let completing = false;
  let committed: CompletedBatch | undefined;
  const guard = new SessionGuard(worker, jobId, getAbortReason);
  const { calls } = guard;
  const jobs = members.map(({ held }) => held);
  const retry = createTransactionRetry(worker, jobs, guard);

  const complete = async (callback: unknown, passedOptions?: unknown): Promise<object> => {
    const run = requireFunction<CompletionCallback>(callback, "complete callback");
    const options = parseTransactionOptions(worker.engine, passedOptions, "complete");
    if (completing) throw new ProcessMisuseError("Complete can only be called once");
    completing = true;
    guard.checkStillRunning();
    committed = await completeBatch(worker, members, guard, retry, run, options);
    guard.completed = true;
    for (const member of committed.locked) {
      if (committed.failures.has(member.held.job.id)) continue;
      member.completed = true;
      // The lease is over as it should be. Whoever finds it gone has nothing to tell the handler.
      member.held.committing = true;
    }
    return completionMark;
  };

  return {
    complete: (callback, options) => calls.follow("complete", complete(callback, options)),
    finish: async (returned) => {
      if (calls.open) await guard.refuseOpenCall(calls.open);
      if (committed) return;
      if (calls.failure) throw calls.failure.error;
      if (returned === completionMark) {
        throw new InvalidOptionError("complete", "belongs to another batch", returned);
      }
    },
    abandon: async () => {
      if (calls.open) await guard.forsake(new JobAttemptEndedError(jobId, "its handler has thrown"));
    },
    close: () => guard.close(),
    get committed() {
      return committed;
    },
    get failure() {
      return calls.failure;
    },
    get transientFailure() {
      return retry.transientFailure;
    },
  };
};
