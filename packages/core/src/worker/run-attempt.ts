import { encodeOutput } from "../engine/complete.ts";
import { runInSpan } from "../engine/trace.ts";
import { Attempt, type OnAttemptOver } from "./attempt.ts";
import type { HeldJob } from "./held-jobs.ts";
import { runHandler } from "./run-handler.ts";
import type { Handler, WorkerContext } from "./worker-context.ts";

/**
 * One attempt at a job, from top to bottom:
 *
 *   begin        start the time limit, the span; report                     attempt.ts
 *   run          read input ─ validate ─ blockers ─ view ─ scope            run-handler.ts
 *                ─ middleware ─ handler                                     middleware.ts
 *   finish       encode the output, or roll back what is left open          here, handler-session.ts
 *   settle       judge the ending: an outcome to record, or none            judge-ending.ts, decide-outcome.ts
 *   hand over    free the slot; outcome to the committer                    consumer.ts, committer.ts
 *   end          report what became of it, end the span, let go of the job  end-attempt.ts
 */
export const runAttempt = (
  worker: WorkerContext,
  held: HeldJob,
  handler: Handler,
  onOver: OnAttemptOver,
): void => {
  const attempt = new Attempt(worker, held, handler, onOver);
  attempt.begin();
  const running = held.span
    ? runInSpan(held.span, () => runHandlerSafely(attempt))
    : runHandlerSafely(attempt);
  running.then(
    (returned) => finishReturned(attempt, returned),
    (error: unknown) => finishThrown(attempt, error),
  );
};

/** Always a promise, whatever the handler is. */
const runHandlerSafely = (attempt: Attempt): Promise<unknown> => {
  try {
    return Promise.resolve(runHandler(attempt));
  } catch (error) {
    return Promise.reject(error);
  }
};

/** What the handler has returned is encoded, unless it is committed already. */
const finishReturned = (attempt: Attempt, returned: unknown): void => {
  const { worker, held, session } = attempt;
  let output: string | undefined | Promise<string | undefined>;
  try {
    output = session ? session.finish(returned) : encodeOutput(worker.engine, held.job, returned);
  } catch (error) {
    attempt.settle({ kind: "threw", error });
    return;
  }
  if (typeof output === "object") {
    output.then(
      (encoded) => attempt.settle({ kind: "returned", output: encoded }),
      (error: unknown) => attempt.settle({ kind: "threw", error }),
    );
  } else attempt.settle({ kind: "returned", output });
};

/** What the handler has left open is rolled back first, unless that has committed already. */
const finishThrown = (attempt: Attempt, error: unknown): void => {
  const settle = (): void => attempt.settle({ kind: "threw", error });
  const rolledBack = attempt.session?.abandon(error);
  if (rolledBack) rolledBack.then(settle, settle);
  else settle();
};
