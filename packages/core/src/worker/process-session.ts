import {
  completeInTransaction,
  type Completion,
  type CompletionCallback,
  type CompletionRequest,
  encodeOutput,
} from "../engine/complete.ts";
import { runInScope } from "../engine/engine.ts";
import type { LeaseRefusal } from "../contracts/state-adapter.ts";
import { refusalAbortReason, refusalError } from "../engine/refusal.ts";
import { runAtomically } from "../engine/transaction.ts";
import {
  InvalidOptionError,
  JobAttemptEndedError,
  type LeaseholdError,
  ProcessMisuseError,
} from "../errors.ts";
import { encodePayload } from "../model/codec.ts";
import type { JobAbortReason } from "../model/entities.ts";
import { requireFunction, requireOneOf, requirePlainObject } from "../model/option-checks.ts";
import { reportFenced, reportRefusal } from "./attempt-events.ts";
import { createDeferred, type Deferred } from "./deferred.ts";
import { type HeldJob, loseLease } from "./held-jobs.ts";
import type { WorkerContext } from "./worker-context.ts";

/** What a process function gets from `complete` and has to return. */
const completion: unique symbol = Symbol("leasehold.completion");
const completionMark = Object.freeze({ [completion]: true });

type PrepareFunction = (options: unknown, callback?: unknown) => Promise<unknown>;

/** A transaction that `prepare({ mode: "atomic" })` opened and `complete` will end. */
interface OpenTransaction {
  /** Resolve to complete inside it, reject to roll it back. */
  readonly ending: Deferred<CompletionCallback>;
  readonly done: Promise<Completion>;
}

/**
 * The transactional side of one attempt.
 *
 *   staged:  prepare(tx) ─ commit ─▶ work under the lease ─▶ complete(tx) ─ commit
 *   atomic:  prepare(tx) ───────────▶ work in the transaction ─▶ complete ─ commit
 *
 * Without `prepare`, `complete` opens the one transaction there is.
 */
export interface ProcessSession {
  /** Called when the process function reads `prepare`; throws when it is too late for that. */
  prepare(): PrepareFunction;
  readonly complete: (callback: unknown) => Promise<object>;
  readonly reportProgress: (value: unknown) => Promise<void>;
  /** The process function has returned its promise: without `prepare` by now, staged mode is settled. */
  endSynchronousPart(): void;
  /** Turns what the process function returned into the output to commit; undefined when it is committed already. */
  finish(returned: unknown): Promise<string | undefined>;
  /** The attempt is over: rolls back whatever is still open. */
  close(): void;
  readonly completed: boolean;
}

export const createProcessSession = (
  worker: WorkerContext,
  held: HeldJob,
  getAbortReason: () => JobAbortReason | undefined,
  synchronousPartOver: boolean,
): ProcessSession => {
  const { engine, settings } = worker;
  const { job, leaseToken } = held;
  let prepareRead = false;
  let autoSetup = synchronousPartOver;
  let prepareCalled = false;
  let completing = false;
  let completed = false;
  let open: OpenTransaction | undefined;
  let closed: Deferred<never> | undefined;
  let isClosed = false;

  const checkStillRunning = (): void => {
    const reason = getAbortReason();
    // A worker that shuts down still wants what its process functions get done in time.
    if (isClosed || (reason !== undefined && reason !== "shutdown")) {
      throw new JobAttemptEndedError(job.id, reason ?? "it was given up on");
    }
  };

  /** Rejects when the attempt ends, so that a callback that never settles does not keep its transaction open. */
  const whileOpen = <T>(work: Promise<T>): Promise<T> => {
    closed ??= createDeferred();
    return Promise.race([work, closed.promise]);
  };

  /** Reports the loss before it is marked: what is marked counts as reported. */
  const loseTo = (refusal: LeaseRefusal, report: typeof reportFenced): LeaseholdError => {
    report(engine.observe, worker, held, refusal);
    loseLease(held, refusalAbortReason(refusal));
    return refusalError(job.id, refusal);
  };

  const lock = async (ctx: object, forOutcome: boolean): Promise<void> => {
    const result = await engine.store.lockJob({ ctx, jobId: job.id, leaseToken });
    if (result.kind === "locked") return;
    // After an expiry the committer still tries, is refused too, and reports that.
    const isFenced = forOutcome && result.reason !== "lease_expired";
    throw loseTo(result, isFenced ? reportFenced : reportRefusal);
  };

  const completionRequest = (callback: CompletionCallback): CompletionRequest => ({
    job,
    leaseToken,
    workerId: settings.workerId,
    callback: (options) => whileOpen(Promise.resolve(callback(options))),
    checkStillWanted: checkStillRunning,
  });

  const runCallback = (ctx: object, callback: unknown): Promise<unknown> => {
    if (callback === undefined) return Promise.resolve();
    const run = requireFunction<(ctx: object) => unknown>(callback, "prepare callback");
    const origin = { jobId: job.id, rootSequenceId: job.rootSequenceId };
    return whileOpen(runInScope(engine, { origin }, async () => run({ ...ctx })));
  };

  const prepareStaged = (callback: unknown): Promise<unknown> =>
    runAtomically(engine, "prepare", undefined, async (ctx) => {
      await lock(ctx, false);
      return runCallback(ctx, callback);
    });

  const prepareAtomic = (callback: unknown): Promise<unknown> => {
    const prepared = createDeferred<unknown>();
    const ending = createDeferred<CompletionCallback>();
    const done = runAtomically(engine, "prepare", undefined, async (ctx, effects) => {
      await lock(ctx, false);
      prepared.resolve(await runCallback(ctx, callback));
      const complete = await ending.promise;
      return completeInTransaction(engine, ctx, effects, completionRequest(complete));
    });
    done.catch((error: unknown) => prepared.reject(error));
    open = { ending, done };
    return prepared.promise;
  };

  const prepare: PrepareFunction = async (options, callback) => {
    const { mode } = requirePlainObject(options, "prepare options");
    requireOneOf(mode, "mode", ["atomic", "staged"]);
    if (prepareCalled) throw new ProcessMisuseError("Prepare can only be called once");
    if (completing) throw new ProcessMisuseError("Prepare cannot be accessed after auto-setup");
    prepareCalled = true;
    checkStillRunning();
    return mode === "atomic" ? prepareAtomic(callback) : prepareStaged(callback);
  };

  const completeWith = async (callback: CompletionCallback): Promise<void> => {
    if (completing) throw new ProcessMisuseError("Complete can only be called once");
    completing = true;
    autoSetup ||= !prepareRead;
    checkStillRunning();
    if (open) {
      open.ending.resolve(callback);
      await open.done;
    } else {
      await runAtomically(engine, "complete", undefined, async (ctx, effects) => {
        await lock(ctx, true);
        return completeInTransaction(engine, ctx, effects, completionRequest(callback));
      });
    }
    completed = true;
  };

  return {
    prepare: () => {
      if (autoSetup) throw new ProcessMisuseError("Prepare cannot be accessed after auto-setup");
      prepareRead = true;
      return prepare;
    },
    complete: async (callback) => {
      await completeWith(requireFunction(callback, "complete callback"));
      return completionMark;
    },
    reportProgress: async (value) => {
      checkStillRunning();
      if (open || (completing && !completed)) {
        // The row is locked by our own transaction: a store with one writer would wait for it for ever.
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
      if (result!.kind === "refused") throw loseTo(result!, reportRefusal);
    },
    endSynchronousPart: () => {
      autoSetup ||= !prepareRead;
    },
    finish: async (returned) => {
      if (returned === completionMark) {
        if (!completed) throw new InvalidOptionError("complete", "belongs to another job", returned);
        return undefined;
      }
      if (completed) return undefined;
      if (!open) return encodeOutput(engine, job, returned);
      await completeWith(() => returned);
      return undefined;
    },
    close: () => {
      isClosed = true;
      // Once completed, nobody waits; and an error costs its stack.
      if (completed || (!open && !closed)) return;
      const reason = new JobAttemptEndedError(job.id, getAbortReason() ?? "its process function has settled");
      // Whoever waits for these handles the rejection; that nobody waits any more is no error.
      open?.ending.promise.catch(() => {});
      open?.ending.reject(reason);
      open?.done.catch(() => {});
      closed?.promise.catch(() => {});
      closed?.reject(reason);
    },
    get completed() {
      return completed;
    },
  };
};
