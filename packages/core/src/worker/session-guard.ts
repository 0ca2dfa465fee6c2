import type { LeaseholdError } from "../base/errors.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import { JobAttemptEndedError, ProcessMisuseError } from "../store/errors.ts";
import type { WorkerContext } from "./context.ts";

export type HandedOutCall = "prepare" | "complete";

const ignore = (): void => {};

/** For a promise that a handler may forget to await: its rejection must not end the process. */
export const handled = <T>(promise: Promise<T>): Promise<T> => {
  promise.catch(ignore);
  return promise;
};

/** Follows the calls of one attempt to `prepare` and `complete`: a handler may forget their promises, the attempt does not. */
class PendingCalls {
  /** At most two: `prepare` and `complete`. */
  readonly #open: { readonly name: HandedOutCall; readonly call: Promise<unknown> }[] = [];
  /** The error of the first call that failed. The handler may or may not have awaited it. */
  failure: { readonly error: unknown } | undefined;

  follow<T>(name: HandedOutCall, call: Promise<T>): Promise<T> {
    const followed = { name, call };
    this.#open.push(followed);
    const end = (): void => void this.#open.splice(this.#open.indexOf(followed), 1);
    call.then(end, (error: unknown) => {
      end();
      this.failure ??= { error };
    });
    return call;
  }

  /** The first call that has not settled. */
  get open(): HandedOutCall | undefined {
    return this.#open[0]?.name;
  }

  /** Resolves when no call is open any more. */
  async settled(): Promise<void> {
    while (this.#open.length > 0) await Promise.allSettled(this.#open.map(({ call }) => call));
  }
}

/** What the attempt allows. */
export interface AttemptGuard {
  /** Throws when the attempt has been aborted or is over. */
  checkStillRunning(): void;
  /** Throws when the handler has settled before its calls: their transactions must not commit. */
  assertHandlerRunning(): void;
  /** Rejects when the attempt ends, so that a callback that never settles does not keep its transaction open. */
  whileOpen<T>(work: T | Promise<T>): Promise<T>;
}

const whatToWrite: Record<HandedOutCall, string> = {
  prepare: "Write `await prepare(…)`",
  complete: "Write `return complete(…)`, or `await complete(…)`",
};

/**
 * Keeps the calls that a handler makes to `prepare` and `complete` within the time of its attempt. A class, because every
 * attempt with a transaction has one, and closures would be made anew for each.
 */
export class SessionGuard implements AttemptGuard {
  readonly calls: PendingCalls = new PendingCalls();
  readonly worker: WorkerContext;
  /** For error messages. */
  readonly jobId: string;
  readonly getAbortReason: () => JobAbortReason | undefined;
  /** Rejects what is waited for, settled or not. */
  readonly waiting: ((reason: unknown) => void)[] = [];
  /** Set when `complete` has committed. */
  completed = false;
  /** A transaction that is open between calls. */
  openTransaction: { rollBack(reason: LeaseholdError): void } | undefined = undefined;
  isClosed = false;
  /** Set when the handler has settled before its calls: their transactions must not commit. */
  forsaken: LeaseholdError | undefined = undefined;

  constructor(worker: WorkerContext, jobId: string, getAbortReason: () => JobAbortReason | undefined) {
    this.worker = worker;
    this.jobId = jobId;
    this.getAbortReason = getAbortReason;
  }

  assertHandlerRunning(): void {
    if (this.forsaken) throw this.forsaken;
  }

  checkStillRunning(): void {
    this.assertHandlerRunning();
    const reason = this.getAbortReason();
    // A worker that shuts down still wants what its handlers get done in time.
    if (this.isClosed || (reason !== undefined && reason !== "shutdown")) {
      throw new JobAttemptEndedError(this.jobId, reason ?? "it was given up on");
    }
  }

  whileOpen<T>(work: T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting.push(reject);
      Promise.resolve(work).then(resolve, reject);
    });
  }

  /**
   * Has the transactions of open calls roll back and waits until they have, or have committed after all. Callbacks get
   * the time to end by themselves: what one wrote after its transaction would not be undone with it.
   */
  async forsake(reason: LeaseholdError): Promise<void> {
    const { engine, settings } = this.worker;
    this.forsaken = reason;
    const cancel = engine.runtime.clock.setTimer(() => this.close(), settings.abortGraceMs);
    await this.calls.settled();
    cancel();
  }

  /** The handler has returned while this call was open. */
  async refuseOpenCall(call: HandedOutCall): Promise<never> {
    const misuse = new ProcessMisuseError(
      `The handler ended while \`${call}\` was still running. ${whatToWrite[call]}`,
    );
    await this.forsake(misuse);
    // Even if it is committed by now: the mistake has to be reported.
    throw misuse;
  }

  /** The attempt is over: rolls back whatever is still open. */
  close(): void {
    this.isClosed = true;
    // Once completed, no caller waits; an error would cost its stack.
    if (this.completed || (!this.openTransaction && this.waiting.length === 0)) return;
    const reason =
      this.forsaken ??
      new JobAttemptEndedError(this.jobId, this.getAbortReason() ?? "its handler has settled");
    this.openTransaction?.rollBack(reason);
    for (const reject of this.waiting) reject(reason);
  }
}
