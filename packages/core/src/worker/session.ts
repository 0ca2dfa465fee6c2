import { encodePayload } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import { requireFunction, requireOneOf, requireOptions } from "../base/options.ts";
import { parseTransactionOptions } from "../engine/operation.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import { type CompletionCallback, encodeOutput } from "../jobs/complete.ts";
import { JobAttemptEndedError, ProcessMisuseError } from "../store/errors.ts";
import { loseLeaseTo } from "./attempt-events.ts";
import type { BatchMember } from "./batches/member.ts";
import type { WorkerContext } from "./context.ts";
import type { HeldJob } from "./held-jobs.ts";
import type { EndedSession } from "./outcome.ts";
import { handled, SessionGuard } from "./session-guard.ts";
import {
  completeBatch,
  type CompletedBatch,
  createAttemptTransactions,
  createTransactionRetry,
  type OpenTransaction,
} from "./transactions.ts";

const latePrepare =
  "`prepare` must be read before the first `await` of the handler, and before `complete` is called: take it from the handler's argument, as in `async ({ prepare }) => …`";

/** What a handler gets from `complete` and has to return. */
const completion: unique symbol = Symbol("leasehold.completion");

const completionMark: object = Object.freeze({ [completion]: true });

type PrepareFunction = (options: unknown, callback?: unknown) => Promise<unknown>;

/**
 * The transactional side of one attempt.
 *
 *   staged:  prepare(tx) ─ commit ─▶ work under the lease ─▶ complete(tx) ─ commit
 *   atomic:  prepare(tx) ───────────▶ work in the transaction ─▶ complete ─ commit
 *
 * Without `prepare`, `complete` opens the one transaction there is.
 */
export interface HandlerSession extends EndedSession {
  /** Called when the handler reads `prepare`; throws when it is too late for that. */
  prepare(): PrepareFunction;
  readonly complete: (callback: unknown, options?: unknown) => Promise<object>;
  readonly reportProgress: (value: unknown) => Promise<void>;
  /** The handler has returned its promise: without `prepare` by now, staged mode is settled. */
  endSynchronousPart(): void;
  /**
   * Turns what the handler returned into the output to commit; undefined when it is committed already. Fails
   * when `prepare` or `complete` is still open or has failed: what they wrote is not there.
   */
  finish(returned: unknown): string | undefined | Promise<string | undefined>;
  /** The handler has thrown. Resolves when no call is open any more; undefined when none is. */
  abandon(thrown: unknown): Promise<void> | undefined;
  /** The attempt is over: rolls back whatever is still open. */
  close(): void;
}

export const createHandlerSession = (
  worker: WorkerContext,
  held: HeldJob,
  getAbortReason: () => JobAbortReason | undefined,
  synchronousPartOver: boolean,
): HandlerSession => {
  const { engine } = worker;
  const { job, leaseToken } = held;
  let prepareRead = false;
  let autoSetup = synchronousPartOver;
  let preparing: Promise<unknown> | undefined;
  let completing = false;
  let open: OpenTransaction | undefined;
  const guard = new SessionGuard(worker, job.id, getAbortReason);
  const { calls } = guard;
  const retry = createTransactionRetry(worker, [held], guard);
  const transactions = createAttemptTransactions(worker, held, guard, retry);

  const prepareWith = async (options: unknown, callback: unknown): Promise<unknown> => {
    const { mode, isolationLevel } = requireOptions(options, "prepare", {
      mode: true,
      isolationLevel: true,
    });
    requireOneOf(mode, "mode", ["atomic", "staged"]);
    const transactionOptions = parseTransactionOptions(engine, { isolationLevel }, "prepare");
    if (completing) throw new ProcessMisuseError(latePrepare);
    guard.checkStillRunning();
    if (mode === "staged") return transactions.prepareStaged(callback, transactionOptions);
    open = transactions.prepareAtomic(callback, transactionOptions);
    guard.openTransaction = open;
    return open.prepared;
  };

  const prepare: PrepareFunction = (options, callback) => {
    if (preparing) {
      const refusal = new ProcessMisuseError("Prepare can only be called once");
      return calls.follow("prepare", Promise.reject(refusal));
    }
    preparing = prepareWith(options, callback);
    return calls.follow("prepare", preparing);
  };

  const complete = async (callback: unknown, passedOptions?: unknown): Promise<object> => {
    const run = requireFunction<CompletionCallback>(callback, "complete callback");
    const options = parseTransactionOptions(engine, passedOptions, "complete");
    if (completing) throw new ProcessMisuseError("Complete can only be called once");
    if (open && options) {
      throw new ProcessMisuseError("The isolation level of an atomic attempt is set by prepare");
    }
    completing = true;
    autoSetup ||= !prepareRead;
    guard.checkStillRunning();
    // Rejects with what `prepare` failed with: what it was to write is not there.
    if (preparing) await preparing;
    await (open ? open.complete(run) : transactions.complete(run, options));
    guard.completed = true;
    // The lease is over as it should be. Whoever finds it gone has nothing to tell the handler.
    held.committing = true;
    return completionMark;
  };

  const reportProgress = async (value: unknown): Promise<void> => {
    guard.checkStillRunning();
    if (guard.completed) throw new JobAttemptEndedError(job.id, "it has completed the job");
    if (open || (completing && !guard.completed)) {
      // The row is locked by our own transaction: a store with one writer would wait for it forever.
      throw new ProcessMisuseError(
        "Progress cannot be reported in a transaction that ends with the completion",
      );
    }
    const progress = encodePayload({
      codec: engine.codec,
      value,
      path: "progress",
      maxBytes: engine.maxPayloadBytes,
    });
    const lease = { jobId: job.id, leaseToken, leaseMs: held.leaseMs, progress };
    const [result] = await engine.store.renewLeases({ leases: [lease] });
    if (result!.kind !== "refused") return;
    // Once the attempt is over, the lease is gone because its outcome was written.
    guard.checkStillRunning();
    throw loseLeaseTo(worker, held, result!);
  };

  return {
    prepare: () => {
      if (autoSetup) throw new ProcessMisuseError(latePrepare);
      prepareRead = true;
      return prepare;
    },
    complete: (callback, options) => calls.follow("complete", complete(callback, options)),
    reportProgress: (value) => handled(reportProgress(value)),
    endSynchronousPart: () => {
      autoSetup ||= !prepareRead;
    },
    finish: (returned) => {
      if (calls.open) return guard.refuseOpenCall(calls.open);
      if (guard.completed) return undefined;
      if (calls.failure) throw calls.failure.error;
      if (returned === completionMark) {
        throw new InvalidOptionError("complete", "belongs to another job", returned);
      }
      if (!open) return encodeOutput(engine, job, returned);
      return complete(() => returned).then(() => undefined);
    },
    abandon: (thrown) => {
      // In atomic mode whatever the handler does with the store belongs to the transaction.
      if (open) retry.noteTransientFailure(thrown);
      return calls.open
        ? guard.forsake(new JobAttemptEndedError(job.id, "its handler has thrown"))
        : undefined;
    },
    close: () => guard.close(),
    get completed() {
      return guard.completed;
    },
    get failure() {
      return calls.failure;
    },
    get transientFailure() {
      return retry.transientFailure;
    },
  };
};

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
