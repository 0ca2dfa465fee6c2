import { encodePayload } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import { requireFunction, requireOneOf, requireOptions } from "../base/options.ts";
import { parseTransactionOptions } from "../engine/operation.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import type { CompletionCallback } from "../jobs/complete.ts";
import { JobAttemptEndedError, ProcessMisuseError } from "../store/errors.ts";
import { viewCompletedJob } from "../jobs/view.ts";
import { loseLeaseTo } from "./attempt-events.ts";
import type { WorkerContext } from "./context.ts";
import type { EndedSession } from "./outcome.ts";
import { handled, SessionGuard } from "./session-guard.ts";
import {
  type CompletedCall,
  createCallTransactions,
  createTransactionRetry,
  type HandlerCall,
  type OpenTransaction,
} from "./transactions.ts";

const latePrepare =
  "`prepare` must be read before the first `await` of the handler, and before `complete` is called: take it from the handler's argument, as in `async ({ prepare }) => …`";

/** What handlers got from `complete`, and have to return. */
const completions = new WeakSet<object>();

type PrepareFunction = (options: unknown, callback?: unknown) => Promise<unknown>;

/**
 * The transactional side of one call of a handler.
 *
 *   staged:  prepare(tx) ─ commit ─▶ work under the lease ─▶ complete(tx) ─ commit
 *   atomic:  prepare(tx) ───────────▶ work in the transaction ─▶ complete ─ commit
 *
 * Without `prepare`, `complete` opens the one transaction there is. Batch handlers have `complete` only.
 */
export interface HandlerSession extends EndedSession {
  /** Called when the handler reads `prepare`. When it is too late for that, the function rejects. */
  prepare(): PrepareFunction;
  readonly complete: (callback: unknown, options?: unknown) => Promise<object>;
  readonly reportProgress: (value: unknown) => Promise<void>;
  /** The handler has returned its promise: without `prepare` by now, staged mode is settled. */
  endSynchronousPart(): void;
  /**
   * Checks what the handler has returned, and ends an atomic transaction with it. Fails when `prepare` or `complete` is still
   * open or has failed: their writes are not there.
   */
  finish(returned: unknown): Promise<void> | undefined;
  /** The handler has thrown. Resolves when no call is open any more; undefined when none is. */
  abandon(thrown: unknown): Promise<void> | undefined;
  /** What `complete` has committed. */
  committed(): CompletedCall | undefined;
  /** The call is over: rolls back whatever is still open. */
  close(): void;
}

export const createHandlerSession = (
  worker: WorkerContext,
  call: HandlerCall,
  getAbortReason: () => JobAbortReason | undefined,
  synchronousPartOver: boolean,
): HandlerSession => {
  const { engine } = worker;
  const { members, isBatch } = call;
  const { job, leaseToken, leaseMs } = members[0]!.held;
  let prepareRead = false;
  let autoSetup = synchronousPartOver;
  let preparing: Promise<unknown> | undefined;
  let completing = false;
  let open: OpenTransaction | undefined;
  let committed: CompletedCall | undefined;
  let progress: string | undefined;
  const guard = new SessionGuard(worker, job.id, getAbortReason);
  const { calls } = guard;
  const jobs = members.map(({ held }) => held);
  const retry = createTransactionRetry(worker, jobs, guard);
  const transactions = createCallTransactions(worker, call, guard, retry);

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
    // Rejects with the error of `prepare`: its writes are not there.
    if (preparing) await preparing;
    committed = await (open ? open.complete(run) : transactions.complete(run, options));
    guard.completed = true;
    for (const member of committed.locked) {
      if (committed.failures.has(member.held.job.id)) continue;
      member.completed = true;
      // The lease has ended with the completion: its loss no longer aborts the handler.
      member.held.committing = true;
    }
    const result = isBatch ? {} : viewCompleted(committed);
    completions.add(result);
    return result;
  };

  const viewCompleted = ({ outcomes, at }: CompletedCall): object => {
    const [outcome] = outcomes;
    const { view } = members[0]!;
    if (outcome?.kind !== "complete" || !view) return {};
    const { output, continuedToId, completedBy } = outcome;
    return viewCompletedJob(engine, view, { output, continuedToId, completedBy, completedAt: at, progress });
  };

  const reportProgress = async (value: unknown): Promise<void> => {
    guard.checkStillRunning();
    if (committed) throw new JobAttemptEndedError(job.id, "it has completed the job");
    if (open || completing) {
      // The row is locked by our own transaction: a store with one writer would wait for it forever.
      throw new ProcessMisuseError(
        "Progress cannot be reported in a transaction that ends with the completion",
      );
    }
    const encoded = encodePayload({
      codec: engine.codec,
      value,
      path: "progress",
      maxBytes: engine.maxPayloadBytes,
    });
    const [result] = await engine.store.renewLeases({
      leases: [{ jobId: job.id, leaseToken, leaseMs, progress: encoded }],
    });
    if (result!.kind === "renewed") progress = encoded;
    if (result!.kind !== "refused") return;
    // Once the attempt is over, the lease is gone because its outcome was written.
    guard.checkStillRunning();
    throw loseLeaseTo(worker, members[0]!.held, result!);
  };

  return {
    prepare: () => {
      if (autoSetup)
        return () => calls.follow("prepare", Promise.reject(new ProcessMisuseError(latePrepare)));
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
      if (committed) return undefined;
      if (calls.failure) throw calls.failure.error;
      if (typeof returned === "object" && returned !== null && completions.has(returned)) {
        throw new InvalidOptionError("complete", `belongs to another ${isBatch ? "batch" : "job"}`, returned);
      }
      return open && complete(() => returned).then(() => {});
    },
    abandon: (thrown) => {
      // In atomic mode whatever the handler does with the store belongs to the transaction.
      if (open) retry.noteTransientFailure(thrown);
      return calls.open
        ? guard.forsake(new JobAttemptEndedError(job.id, "its handler has thrown"))
        : undefined;
    },
    close: () => guard.close(),
    committed: () => committed,
    failure: () => calls.failure,
    transientFailure: retry.transientFailure,
  };
};
