import { type CompletionCallback, encodeOutput } from "../engine/complete.ts";
import { parseTransactionOptions } from "../engine/transaction.ts";
import {
  InvalidOptionError,
  JobAttemptEndedError,
  type LeaseholdError,
  ProcessMisuseError,
} from "../errors.ts";
import { encodePayload } from "../model/codec.ts";
import type { JobAbortReason } from "../model/entities.ts";
import { requireFunction, requireOneOf, requireOptions } from "../model/option-checks.ts";
import { createAttemptTransactions, type OpenTransaction } from "./attempt-transactions.ts";
import { createHandedOutCalls, handled, type HandedOutCall } from "./handed-out-calls.ts";
import type { HeldJob } from "./held-jobs.ts";
import { type AttemptGuard, createTransactionRetry } from "./retry-when-rolled-back.ts";
import type { WorkerContext } from "./worker-context.ts";

const latePrepare =
  "`prepare` must be read before the first `await` of the handler, and before `complete` is called: take it from the handler's argument, as in `async ({ prepare }) => …`";

const whatToWrite: Record<HandedOutCall, string> = {
  prepare: "Write `await prepare(…)`",
  complete: "Write `return complete(…)`, or `await complete(…)`",
};

/** What a handler gets from `complete` and has to return. */
const completion: unique symbol = Symbol("leasehold.completion");
const completionMark = Object.freeze({ [completion]: true });

type PrepareFunction = (options: unknown, callback?: unknown) => Promise<unknown>;

/**
 * The transactional side of one attempt.
 *
 *   staged:  prepare(tx) ─ commit ─▶ work under the lease ─▶ complete(tx) ─ commit
 *   atomic:  prepare(tx) ───────────▶ work in the transaction ─▶ complete ─ commit
 *
 * Without `prepare`, `complete` opens the one transaction there is.
 */
export interface HandlerSession {
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
  readonly completed: boolean;
  /** What the first call of `prepare` or `complete` that failed was rejected with. */
  readonly failure: { readonly error: unknown } | undefined;
  /** The store rolled back for a transient reason, and running the transaction again did not help or was not possible. */
  readonly transientFailure: { readonly error: unknown } | undefined;
}

export const createHandlerSession = (
  worker: WorkerContext,
  held: HeldJob,
  getAbortReason: () => JobAbortReason | undefined,
  synchronousPartOver: boolean,
): HandlerSession => {
  const { engine, settings } = worker;
  const { job, leaseToken } = held;
  let prepareRead = false;
  let autoSetup = synchronousPartOver;
  let preparing: Promise<unknown> | undefined;
  let completing = false;
  let completed = false;
  let open: OpenTransaction | undefined;
  /** Rejects what is waited for, settled or not. */
  const waiting: ((reason: unknown) => void)[] = [];
  let isClosed = false;
  /** Set when the handler has settled before its calls: their transactions must not commit. */
  let forsaken: LeaseholdError | undefined;
  const calls = createHandedOutCalls();

  const checkNotForsaken = (): void => {
    if (forsaken) throw forsaken;
  };

  const checkStillRunning = (): void => {
    checkNotForsaken();
    const reason = getAbortReason();
    // A worker that shuts down still wants what its handlers get done in time.
    if (isClosed || (reason !== undefined && reason !== "shutdown")) {
      throw new JobAttemptEndedError(job.id, reason ?? "it was given up on");
    }
  };

  /** Rejects when the attempt ends, so that a callback that never settles does not keep its transaction open. */
  const whileOpen = <T>(work: T | Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.push(reject);
      Promise.resolve(work).then(resolve, reject);
    });

  const guard: AttemptGuard = { checkStillRunning, checkNotForsaken, whileOpen };
  const retry = createTransactionRetry(worker, held, guard);
  const transactions = createAttemptTransactions(worker, held, guard, retry);

  const prepareWith = async (options: unknown, callback: unknown): Promise<unknown> => {
    const { mode, isolationLevel } = requireOptions(options, "prepare", {
      mode: true,
      isolationLevel: true,
    });
    requireOneOf(mode, "mode", ["atomic", "staged"]);
    const transactionOptions = parseTransactionOptions(engine, { isolationLevel }, "prepare");
    if (completing) throw new ProcessMisuseError(latePrepare);
    checkStillRunning();
    if (mode === "staged") return transactions.prepareStaged(callback, transactionOptions);
    open = transactions.prepareAtomic(callback, transactionOptions);
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
    checkStillRunning();
    // Rejects with what `prepare` failed with: what it was to write is not there.
    if (preparing) await preparing;
    await (open ? open.complete(run) : transactions.complete(run, options));
    completed = true;
    // The lease is over as it should be. Whoever finds it gone has nothing to tell the handler.
    held.committing = true;
    return completionMark;
  };

  const reportProgress = async (value: unknown): Promise<void> => {
    checkStillRunning();
    if (completed) throw new JobAttemptEndedError(job.id, "it has completed the job");
    if (open || (completing && !completed)) {
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
    checkStillRunning();
    throw transactions.loseTo(result!);
  };

  const close = (): void => {
    isClosed = true;
    // Once completed, nobody waits; and an error costs its stack.
    if (completed || (!open && waiting.length === 0)) return;
    const reason =
      forsaken ?? new JobAttemptEndedError(job.id, getAbortReason() ?? "its handler has settled");
    open?.rollBack(reason);
    for (const reject of waiting) reject(reason);
  };

  /**
   * Has the transactions of open calls roll back and waits until they have, or have committed after all. Callbacks get
   * the time to end by themselves: what one wrote after its transaction would not be undone with it.
   */
  const forsake = async (reason: LeaseholdError): Promise<void> => {
    forsaken = reason;
    const cancel = engine.runtime.clock.setTimer(close, settings.abortGraceMs);
    await calls.settled();
    cancel();
  };

  const refuseOpenCall = async (call: HandedOutCall): Promise<never> => {
    const misuse = new ProcessMisuseError(
      `The handler ended while \`${call}\` was still running. ${whatToWrite[call]}`,
    );
    await forsake(misuse);
    // Even if it is committed by now: the mistake is to be seen.
    throw misuse;
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
      if (calls.open) return refuseOpenCall(calls.open);
      if (completed) return undefined;
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
      return calls.open ? forsake(new JobAttemptEndedError(job.id, "its handler has thrown")) : undefined;
    },
    close,
    get completed() {
      return completed;
    },
    get failure() {
      return calls.failure;
    },
    get transientFailure() {
      return retry.transientFailure;
    },
  };
};
