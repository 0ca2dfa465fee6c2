import { JobAttemptEndedError, type LeaseholdError, ProcessMisuseError } from "../errors.ts";
import type { JobAbortReason } from "../model/entities.ts";
import { createHandedOutCalls, type HandedOutCall, type HandedOutCalls } from "./handed-out-calls.ts";
import type { AttemptGuard } from "./retry-when-rolled-back.ts";
import type { WorkerContext } from "./worker-context.ts";

const whatToWrite: Record<HandedOutCall, string> = {
  prepare: "Write `await prepare(…)`",
  complete: "Write `return complete(…)`, or `await complete(…)`",
};

/** What the guard has to know of the session. */
export interface GuardedSession {
  /** For error messages. */
  readonly jobId: string;
  /** Why what the handler does is no longer wanted, if it is not. */
  getAbortReason(): JobAbortReason | undefined;
  isCompleted(): boolean;
  /** A transaction that is open between calls. */
  getOpen(): { rollBack(reason: LeaseholdError): void } | undefined;
}

/** Keeps the calls that a handler makes to `prepare` and `complete` within the time of its attempt. */
export interface SessionGuard extends AttemptGuard {
  readonly calls: HandedOutCalls;
  /**
   * Has the transactions of open calls roll back and waits until they have, or have committed after all. Callbacks get
   * the time to end by themselves: what one wrote after its transaction would not be undone with it.
   */
  forsake(reason: LeaseholdError): Promise<void>;
  /** The handler has returned while this call was open. */
  refuseOpenCall(call: HandedOutCall): Promise<never>;
  /** The attempt is over: rolls back whatever is still open. */
  close(): void;
}

export const createSessionGuard = (
  { engine, settings }: WorkerContext,
  { jobId, getAbortReason, isCompleted, getOpen }: GuardedSession,
): SessionGuard => {
  const calls = createHandedOutCalls();
  /** Rejects what is waited for, settled or not. */
  const waiting: ((reason: unknown) => void)[] = [];
  let isClosed = false;
  /** Set when the handler has settled before its calls: their transactions must not commit. */
  let forsaken: LeaseholdError | undefined;

  const checkNotForsaken = (): void => {
    if (forsaken) throw forsaken;
  };

  const close = (): void => {
    isClosed = true;
    const open = getOpen();
    // Once completed, nobody waits; and an error costs its stack.
    if (isCompleted() || (!open && waiting.length === 0)) return;
    const reason = forsaken ?? new JobAttemptEndedError(jobId, getAbortReason() ?? "its handler has settled");
    open?.rollBack(reason);
    for (const reject of waiting) reject(reason);
  };

  const forsake = async (reason: LeaseholdError): Promise<void> => {
    forsaken = reason;
    const cancel = engine.runtime.clock.setTimer(close, settings.abortGraceMs);
    await calls.settled();
    cancel();
  };

  return {
    calls,
    checkNotForsaken,
    checkStillRunning: () => {
      checkNotForsaken();
      const reason = getAbortReason();
      // A worker that shuts down still wants what its handlers get done in time.
      if (isClosed || (reason !== undefined && reason !== "shutdown")) {
        throw new JobAttemptEndedError(jobId, reason ?? "it was given up on");
      }
    },
    whileOpen: (work) =>
      new Promise((resolve, reject) => {
        waiting.push(reject);
        Promise.resolve(work).then(resolve, reject);
      }),
    forsake,
    refuseOpenCall: async (call) => {
      const misuse = new ProcessMisuseError(
        `The handler ended while \`${call}\` was still running. ${whatToWrite[call]}`,
      );
      await forsake(misuse);
      // Even if it is committed by now: the mistake is to be seen.
      throw misuse;
    },
    close,
  };
};
