import type { JobOutcome } from "../contracts/state-adapter.ts";
import { JobTimeoutError } from "../errors.ts";
import type { JobAbortReason } from "../model/entities.ts";
import { isInstance } from "../model/option-checks.ts";
import { restoreError, toStoredErrorText } from "../model/stored-error.ts";
import { attemptEventData } from "./attempt-events.ts";
import {
  BlockersUnread,
  completeOutcome,
  errorOutcome,
  giveBackOutcome,
  isVerdict,
  transientErrorOutcome,
} from "./decide-outcome.ts";
import type { HeldJob } from "./held-jobs.ts";
import type { WorkerContext } from "./worker-context.ts";

/** How a handler ended: it returned, it threw, or it ignored its signal until it was given up on. */
export type Ending =
  | { readonly kind: "returned"; readonly output: string | undefined }
  /** `shared` where several jobs ended in the same error, and only one of them may be the reason. */
  | { readonly kind: "threw"; readonly error: unknown; readonly shared?: boolean }
  | { readonly kind: "abandoned" };

/** What is to be recorded of an attempt; or that the handler has completed the job itself; or that nothing counts. */
export type Verdict = JobOutcome | "completed" | "lost";

/** What `prepare` and `complete` came to. */
export interface EndedSession {
  readonly completed: boolean;
  /** What the first call of `prepare` or `complete` that failed was rejected with. */
  readonly failure: { readonly error: unknown } | undefined;
  /** The store rolled back for a transient reason, and running the transaction again did not help or was not possible. */
  readonly transientFailure: { readonly error: unknown } | undefined;
}

export interface EndedAttempt {
  readonly worker: WorkerContext;
  readonly held: HeldJob;
  readonly timeoutMs: number | undefined;
  readonly abortReason: JobAbortReason | undefined;
  /** Undefined where the handler has used none of what needs one. */
  readonly session: EndedSession | undefined;
}

// The lease is certainly gone, so there is nothing to record. A lease that has only expired by our own clock is not among
// these: the store decides about it.
const lostForCertain: ReadonlySet<JobAbortReason> = new Set([
  "taken_by_another_worker",
  "already_completed",
  "not_found",
  "cancelled",
]);

export const judgeEnding = (attempt: EndedAttempt, ending: Ending): Verdict => {
  const { session, abortReason } = attempt;
  if (session?.completed) {
    reportErrorAfterCompletion(attempt, ending, session);
    return "completed";
  }
  if (abortReason !== undefined && lostForCertain.has(abortReason)) return "lost";
  return blameStore(attempt, ending) ?? decideOutcome(attempt, ending) ?? "lost";
};

/** What was committed stands; the error is only reported. */
const reportErrorAfterCompletion = (
  { worker, held }: EndedAttempt,
  ending: Ending,
  { failure }: EndedSession,
): void => {
  const failed = ending.kind === "threw" ? ending : failure;
  if (!failed) return;
  worker.engine.observe("jobAttemptErrorAfterCompletion", () => ({
    error: restoreError(toStoredErrorText(failed.error)),
    ...attemptEventData(worker, held),
  }));
};

/** Where the store, and not the handler, is to blame: the job goes back, and the attempt does not count. */
const blameStore = (
  { worker, held, session, abortReason }: EndedAttempt,
  ending: Ending,
): JobOutcome | undefined => {
  if (ending.kind !== "threw") return undefined;
  const isUnread = isInstance(ending.error, BlockersUnread);
  if (!isUnread && !session?.transientFailure) return undefined;
  const error = isUnread ? ending.error.cause : ending.error;
  if (abortReason === "timeout" || abortReason === "shutdown" || isVerdict(error)) return undefined;
  const outcome = transientErrorOutcome(worker, held, error);
  if (!outcome) return undefined;
  worker.engine.observe("jobAttemptGivenBack", () => ({
    error: restoreError(outcome.error),
    retryInMs: outcome.schedule.afterMs,
    ...attemptEventData(worker, held),
  }));
  return outcome;
};

const decideOutcome = (
  { worker, held, abortReason, timeoutMs }: EndedAttempt,
  ending: Ending,
): JobOutcome | undefined => {
  if (abortReason === "timeout") {
    const error = new JobTimeoutError(held.job.id, timeoutMs!);
    if (ending.kind === "threw") error.cause = ending.error;
    return errorOutcome(worker, held, error);
  }
  switch (ending.kind) {
    case "returned":
      return completeOutcome(worker, held, ending.output!);
    case "threw":
      if (abortReason === "shutdown") return giveBackOutcome(held);
      return errorOutcome(worker, held, ending.error, ending.shared);
    case "abandoned":
      return abortReason === "shutdown" ? giveBackOutcome(held) : undefined;
  }
};
