import { decodePayload } from "../base/codec.ts";
import type { StateStore } from "../engine/dispatch.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import { validateAgainstSchema } from "../job-types/registry.ts";
import { encodeOutput } from "../jobs/complete.ts";
import { type JobView, viewJob } from "../jobs/view.ts";
import type { AttemptEventData } from "../observability/events.ts";
import { linkBlockers, runInSpan } from "../observability/observe.ts";
import type { StateSequence } from "../store/contract/job.ts";
import { JobAttemptEndedError } from "../store/errors.ts";
import { attemptEventData } from "./attempt-events.ts";
import type { Handler, WorkerContext } from "./context.ts";
import {
  type AttemptLog,
  createAttemptLog,
  type HeldJob,
  type RunningAttempt,
  type WriteLog,
} from "./held-jobs.ts";
import {
  BlockersUnread,
  type EndedAttempt,
  type Ending,
  decideOutcomeOf,
  StoredInputRefused,
  type Verdict,
} from "./outcome.ts";
import { createHandlerSession, type HandlerSession } from "./session.ts";

/** Called exactly once, when the attempt no longer needs its slot. */
export type OnAttemptOver = (held: HeldJob, verdict: Verdict, abandoned: boolean) => void;

/**
 * The state of one attempt at a job.
 *
 *   running ──handler settles──▶ over
 *      │                          ▲
 *      └──abort──▶ aborting ──settles──┤
 *                     └──grace runs out┘   (what comes later is dropped and reported)
 *
 * A class, against the house style, because every job has one: methods are shared, where closures would be made and
 * compiled for each.
 */
export class Attempt implements RunningAttempt {
  readonly worker: WorkerContext;
  readonly held: HeldJob;
  readonly handler: Handler;
  readonly onOver: OnAttemptOver;
  readonly timeoutMs: number | undefined;
  readonly startedAt: number;
  abortReason: JobAbortReason | undefined = undefined;
  over = false;
  synchronousPartOver = false;
  controller: AbortController | undefined = undefined;
  session: HandlerSession | undefined = undefined;
  cancelTimeout: (() => void) | undefined = undefined;
  cancelGrace: (() => void) | undefined = undefined;

  constructor(worker: WorkerContext, held: HeldJob, handler: Handler, onOver: OnAttemptOver) {
    this.worker = worker;
    this.held = held;
    this.handler = handler;
    this.onOver = onOver;
    this.timeoutMs = effectiveTimeout(held, handler) ?? worker.engine.defaults.timeoutMs;
    this.startedAt = worker.engine.runtime.clock.monotonic();
  }

  readonly eventData = (): AttemptEventData => attemptEventData(this.worker, this.held);

  begin(): void {
    const { engine } = this.worker;
    const { held } = this;
    held.attempt = this;
    if (this.timeoutMs !== undefined) this.limitTime(this.timeoutMs);
    engine.observe("jobAttemptStarted", this.eventData);
    const { traceContext, sequenceIndex } = held.job;
    held.span = engine.tracer?.attempt({ traceContext, sequenceIndex, ...this.eventData() });
  }

  limitTime(timeoutMs: number): void {
    const { observe, runtime } = this.worker.engine;
    this.cancelTimeout = runtime.clock.setTimer(() => {
      observe("jobAttemptTimedOut", () => ({ timeoutMs, ...this.eventData() }));
      this.abort("timeout");
    }, timeoutMs);
  }

  abort(reason: JobAbortReason): void {
    if (this.over || this.abortReason !== undefined) return;
    this.abortReason = reason;
    if (this.held.span) this.held.span.abortReason = reason;
    this.controller?.abort(reason);
    this.awaitReaction();
  }

  /** The handler has a while to react to its signal. */
  awaitReaction(): void {
    const { engine, settings } = this.worker;
    this.cancelGrace = engine.runtime.clock.setTimer(() => this.giveUp(), settings.abortGraceMs);
  }

  giveUp(): void {
    this.worker.engine.observe("jobAttemptStuck", this.eventData);
    this.settle({ kind: "abandoned" });
  }

  getEnded(): EndedAttempt {
    return this;
  }

  /** Throws when the attempt has been aborted or given up on. */
  checkStillWanted(): void {
    if (this.over || this.abortReason !== undefined) {
      throw new JobAttemptEndedError(this.held.job.id, this.abortReason ?? "it was given up on");
    }
  }

  getSignal(): AbortSignal {
    return (this.controller ??= createController(this.abortReason)).signal;
  }

  getSession(): HandlerSession {
    if (this.session) return this.session;
    const { worker, held, synchronousPartOver } = this;
    const session = createHandlerSession(worker, held, () => this.abortReason, synchronousPartOver);
    if (this.over) session.close();
    return (this.session = session);
  }

  getLog(): AttemptLog {
    return (this.held.log ??= createAttemptLog(this.worker.engine.runtime.clock));
  }

  /** The handler has returned its promise, or its result. */
  endSynchronousPart(): void {
    this.synchronousPartOver = true;
    this.session?.endSynchronousPart();
  }

  /** The first ending counts; a handler that was given up on may still come to another. */
  settle(ending: Ending): void {
    if (this.over) {
      this.worker.engine.observe("jobAttemptLateResult", this.eventData);
      return;
    }
    const verdict = decideOutcomeOf(this.getEnded(), ending);
    this.close();
    this.onOver(this.held, verdict, ending.kind === "abandoned");
  }

  close(): void {
    const { observe, runtime, tally } = this.worker.engine;
    this.over = true;
    this.cancelTimeout?.();
    this.cancelGrace?.();
    this.held.attempt = undefined;
    this.session?.close();
    if (tally.isOn) this.held.ranMs = runtime.clock.monotonic() - this.startedAt;
    observe("jobAttemptDuration", () => ({
      durationMs: runtime.clock.monotonic() - this.startedAt,
      ...this.eventData(),
    }));
  }
}

export const createController = (abortReason: JobAbortReason | undefined): AbortController => {
  const controller = new AbortController();
  if (abortReason !== undefined) controller.abort(abortReason);
  return controller;
};

const effectiveTimeout = ({ job }: HeldJob, handler: Handler): number | undefined => {
  if (job.timeoutMs === null) return handler.timeoutMs;
  return Math.min(job.timeoutMs, handler.timeoutMs ?? Infinity);
};

/**
 * What a handler and its middleware are given, most of it made on demand: those of short jobs look at nothing but the
 * job. A class, because accessors in an object literal cost every job its own hidden class; these are shared.
 */
class HandlerOptions {
  readonly job: JobView;
  readonly workerId: string;
  readonly #attempt: Attempt;

  constructor(job: JobView, attempt: Attempt) {
    this.job = job;
    this.workerId = attempt.worker.settings.workerId;
    this.#attempt = attempt;
  }

  get signal(): AbortSignal {
    return this.#attempt.getSignal();
  }

  get prepare(): unknown {
    return this.#attempt.getSession().prepare();
  }

  get complete(): unknown {
    return this.#attempt.getSession().complete;
  }

  get reportProgress(): unknown {
    return this.#attempt.getSession().reportProgress;
  }

  get log(): WriteLog {
    return this.#attempt.getLog().write;
  }
}

/** Runs the handler with the job as it is stored; at once, unless something about the job has to be waited for. */
const runHandler = (attempt: Attempt): unknown => {
  const { engine } = attempt.worker;
  const { job } = attempt.held;
  const stored = decodePayload(engine.codec, job.input, "input");
  const type = engine.jobTypes.get(job.typeName);
  if (type.input || job.blockerCount > 0) return waitAndRunHandler(attempt, stored);
  return runInScope(attempt, viewJob(engine, job, [], stored));
};

const waitAndRunHandler = async (attempt: Attempt, stored: unknown): Promise<unknown> => {
  const input = await validateInput(attempt, stored);
  const blockers = await readBlockers(attempt);
  // Reading may have taken so long that the job is somebody else's by now.
  attempt.checkStillWanted();
  return runInScope(attempt, viewJob(attempt.worker.engine, attempt.held.job, blockers, input));
};

export const validateInput = async ({ worker, held }: Attempt, stored: unknown): Promise<unknown> => {
  const { typeName } = held.job;
  try {
    const type = worker.engine.jobTypes.get(typeName);
    const { value } = await validateAgainstSchema(type, typeName, "input", stored);
    return value;
  } catch (error) {
    throw new StoredInputRefused(error);
  }
};

/** Reads the blockers of several jobs. A transient error is told apart from those of the handler, which has not run yet. */
export const getBlockers = async (
  store: StateStore,
  jobIds: readonly string[],
): Promise<readonly (readonly StateSequence[])[]> => {
  try {
    return await store.getBlockers({ jobIds });
  } catch (error) {
    throw store.isTransientError(error) ? new BlockersUnread(error) : error;
  }
};

const readBlockers = async ({ worker, held }: Attempt): Promise<readonly StateSequence[]> => {
  const { job, span } = held;
  if (job.blockerCount === 0) return [];
  const [blockers] = await getBlockers(worker.engine.store, [job.id]);
  if (span && blockers!.length > 0) linkBlockers(span, blockers!);
  return blockers!;
};

const runInScope = (attempt: Attempt, view: JobView): unknown => {
  const { job } = attempt.held;
  const origin = { jobId: job.id, rootSequenceId: job.rootSequenceId };
  // A scope of its own, without that of the code that started the worker: it has nothing to do with this job.
  return attempt.worker.engine.scope.run({ origin }, callHandler, attempt, view);
};

const callHandler = (attempt: Attempt, view: JobView): unknown => {
  const running = attempt.handler.run(new HandlerOptions(view, attempt));
  attempt.endSynchronousPart();
  return running;
};

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
