import type { AttemptEventData } from "../contracts/events.ts";
import type { JobOutcome } from "../contracts/state-adapter.ts";
import { encodeOutput } from "../engine/complete.ts";
import { validateAgainstSchema, type ValidatedValue } from "../engine/job-type-registry.ts";
import {
  type AttemptSpan,
  endLostSpan,
  endRecordedSpan,
  linkBlockers,
  runInSpan,
  type Tracer,
} from "../engine/trace.ts";
import { type JobView, viewJob } from "../engine/view.ts";
import { JobAttemptEndedError, JobTimeoutError } from "../errors.ts";
import { decodePayload } from "../model/codec.ts";
import type { JobAbortReason } from "../model/entities.ts";
import type { StateJob } from "../model/job.ts";
import type { RuntimeJobType } from "../model/job-type-options.ts";
import { restoreError, toStoredErrorText } from "../model/stored-error.ts";
import { attemptEventData } from "./attempt-events.ts";
import {
  completeOutcome,
  errorOutcome,
  giveBackOutcome,
  isVerdict,
  releaseOutcome,
  StoredInputRefused,
} from "./decide-outcome.ts";
import type { HeldJob, RunningAttempt } from "./held-jobs.ts";
import { createProcessSession, type ProcessSession } from "./process-session.ts";
import type { Handler, WorkerContext } from "./worker-context.ts";

/** How a process function ended: by itself, or given up on after it ignored its signal. */
type Ending =
  | { kind: "returned"; output: string | undefined }
  | { kind: "threw"; error: unknown }
  | { kind: "abandoned" };

// The lease is gone for certain, so there is nothing to record. A lease that has only run out by our own reckoning is
// not among these: the store decides about it.
const lostForCertain: ReadonlySet<JobAbortReason> = new Set([
  "taken_by_another_worker",
  "already_completed",
  "not_found",
  "cancelled",
]);

/** Hears of the end of an attempt exactly once; see `startAttempt`. */
export type OnAttemptEnd = (held: HeldJob, outcome: JobOutcome | undefined, abandoned: boolean) => void;

/**
 * Runs one attempt at a job and calls `onEnd` exactly once: with the outcome to record, or with nothing when it is
 * recorded already or the lease is lost.
 *
 *   running ──process function settles──▶ over
 *      │                                   ▲
 *      └──abort──▶ aborting ──settles──────┤
 *                     └──grace runs out────┘   (what comes later is dropped and reported)
 */
export const startAttempt = (
  worker: WorkerContext,
  held: HeldJob,
  handler: Handler,
  onEnd: OnAttemptEnd,
): void => {
  const attempt = new Attempt(worker, held, handler, onEnd);
  held.attempt = attempt;
  attempt.start();
};

/**
 * An attempt under way. A class, against the house style, because every job has one: methods are shared, where closures
 * would be made, and compiled, anew.
 */
class Attempt implements RunningAttempt {
  readonly worker: WorkerContext;
  readonly held: HeldJob;
  readonly handler: Handler;
  readonly onEnd: OnAttemptEnd;
  readonly timeoutMs: number | undefined;
  readonly startedAt: number;
  abortReason: JobAbortReason | undefined = undefined;
  over = false;
  synchronousPartOver = false;
  controller: AbortController | undefined = undefined;
  session: ProcessSession | undefined = undefined;
  cancelTimeout: (() => void) | undefined = undefined;
  cancelGrace: (() => void) | undefined = undefined;

  constructor(worker: WorkerContext, held: HeldJob, handler: Handler, onEnd: OnAttemptEnd) {
    this.worker = worker;
    this.held = held;
    this.handler = handler;
    this.onEnd = onEnd;
    this.timeoutMs = effectiveTimeout(held, handler) ?? worker.engine.defaults.timeoutMs;
    this.startedAt = worker.engine.runtime.clock.monotonic();
  }

  start(): void {
    const { engine } = this.worker;
    if (this.timeoutMs !== undefined) this.limitTime(this.timeoutMs);
    engine.observe("jobAttemptStarted", this.eventData);
    const span = (this.held.span = engine.tracer && startSpan(this.worker, this.held, engine.tracer));
    const running = span ? runInSpan(span, () => runSafely(this)) : runSafely(this);
    running.then(
      (returned) => this.finish(returned),
      (error: unknown) => this.fail(error),
    );
  }

  readonly eventData = (): AttemptEventData => attemptEventData(this.worker, this.held);

  limitTime(timeoutMs: number): void {
    const { observe, runtime } = this.worker.engine;
    this.cancelTimeout = runtime.clock.setTimer(() => {
      observe("jobAttemptTimedOut", () => ({ timeoutMs, ...this.eventData() }));
      this.abort("timeout");
    }, timeoutMs);
  }

  abort(reason: JobAbortReason): void {
    if (this.over || this.abortReason !== undefined) return;
    const { engine, settings } = this.worker;
    this.abortReason = reason;
    if (this.held.span) this.held.span.abortReason = reason;
    this.controller?.abort(reason);
    this.cancelGrace = engine.runtime.clock.setTimer(() => {
      engine.observe("jobAttemptStuck", this.eventData);
      this.settle({ kind: "abandoned" });
    }, settings.abortGraceMs);
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

  getSession(): ProcessSession {
    if (this.session) return this.session;
    const { worker, held, synchronousPartOver } = this;
    const session = createProcessSession(worker, held, () => this.abortReason, synchronousPartOver);
    if (this.over) session.close();
    return (this.session = session);
  }

  endSynchronousPart(): void {
    this.synchronousPartOver = true;
    this.session?.endSynchronousPart();
  }

  /** The process function has returned: what it made is encoded, or is committed already. */
  finish(returned: unknown): void {
    let output: string | undefined | Promise<string | undefined>;
    try {
      output = this.session
        ? this.session.finish(returned)
        : encodeOutput(this.worker.engine, this.held.job, returned);
    } catch (error) {
      this.settle({ kind: "threw", error });
      return;
    }
    if (typeof output === "object") {
      output.then(
        (encoded) => this.settle({ kind: "returned", output: encoded }),
        (error: unknown) => this.settle({ kind: "threw", error }),
      );
    } else this.settle({ kind: "returned", output });
  }

  /** The process function has thrown: what it left open is rolled back first, unless that has committed already. */
  fail(thrown: unknown): void {
    const ending: Ending = { kind: "threw", error: thrown };
    const settle = (): void => this.settle(ending);
    const rolledBack = this.session?.abandon(thrown);
    if (rolledBack) rolledBack.then(settle, settle);
    else settle();
  }

  settle(ending: Ending): void {
    const { worker, held, session, abortReason } = this;
    if (this.over) {
      worker.engine.observe("jobAttemptLateResult", this.eventData);
      return;
    }
    if (session?.completed) this.reportErrorAfterCompletion(ending, session);
    const isDecided = session?.completed || (abortReason !== undefined && lostForCertain.has(abortReason));
    this.end(
      isDecided
        ? undefined
        : (this.giveBack(ending) ?? decideEnding(worker, held, ending, abortReason, this.timeoutMs)),
      ending.kind === "abandoned",
    );
  }

  /** Where the store, and not the handler, is to blame. */
  giveBack(ending: Ending): JobOutcome | undefined {
    if (ending.kind !== "threw" || !this.session?.transientFailure) return undefined;
    const { worker, held, abortReason } = this;
    const { error } = ending;
    if (abortReason === "timeout" || abortReason === "shutdown" || isVerdict(error)) return undefined;
    const outcome = giveBackOutcome(worker, held, error);
    if (!outcome) return undefined;
    worker.engine.observe("jobAttemptGivenBack", () => ({
      error: restoreError(outcome.error),
      retryInMs: outcome.schedule.afterMs,
      ...this.eventData(),
    }));
    return outcome;
  }

  /** What was committed stands; the error is only told. */
  reportErrorAfterCompletion(ending: Ending, { failure }: ProcessSession): void {
    const failed = ending.kind === "threw" ? ending : failure;
    if (!failed) return;
    this.worker.engine.observe("jobAttemptErrorAfterCompletion", () => ({
      error: restoreError(toStoredErrorText(failed.error)),
      ...this.eventData(),
    }));
  }

  end(outcome: JobOutcome | undefined, abandoned: boolean): void {
    const { held, session, worker } = this;
    const { observe, runtime } = worker.engine;
    this.over = true;
    this.cancelTimeout?.();
    this.cancelGrace?.();
    held.attempt = undefined;
    session?.close();
    observe("jobAttemptDuration", () => ({
      durationMs: runtime.clock.monotonic() - this.startedAt,
      ...this.eventData(),
    }));
    if (session?.completed) {
      observe("jobAttemptCompleted", this.eventData);
      if (held.span) endRecordedSpan(held.span, "completed");
    } else if (!outcome && held.span) endLostSpan(held.span, null);
    this.onEnd(held, outcome, abandoned);
  }
}

const startSpan = (worker: WorkerContext, held: HeldJob, tracer: Tracer): AttemptSpan | undefined =>
  tracer.attempt({
    traceContext: held.job.traceContext,
    sequenceIndex: held.job.sequenceIndex,
    ...attemptEventData(worker, held),
  });

const createController = (abortReason: JobAbortReason | undefined): AbortController => {
  const controller = new AbortController();
  if (abortReason !== undefined) controller.abort(abortReason);
  return controller;
};

const effectiveTimeout = ({ job }: HeldJob, handler: Handler): number | undefined => {
  if (job.timeoutMs === null) return handler.timeoutMs;
  return Math.min(job.timeoutMs, handler.timeoutMs ?? Infinity);
};

/**
 * What a process function and its middleware are given, most of it made on demand: those of short jobs look at nothing
 * but the job. A class, because accessors in an object literal cost every job its own hidden class; these are shared.
 */
class AttemptOptions {
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
}

/** Always a promise, whatever the process function is. */
const runSafely = (attempt: Attempt): Promise<unknown> => {
  try {
    return Promise.resolve(readAndRun(attempt));
  } catch (error) {
    return Promise.reject(error);
  }
};

/** Runs the process function with the job as it is stored; at once, unless something about the job has to be waited for. */
const readAndRun = (attempt: Attempt): unknown => {
  const { engine } = attempt.worker;
  const { job } = attempt.held;
  const type = engine.jobTypes.get(job.typeName);
  const stored = decodePayload(engine.codec, job.input, "input");
  if (type.input || job.blockerCount > 0) return readFurtherAndRun(attempt, type, stored);
  return runHandler(attempt, viewJob(engine, job, [], stored));
};

const readFurtherAndRun = async (
  attempt: Attempt,
  type: RuntimeJobType,
  stored: unknown,
): Promise<unknown> => {
  const { engine } = attempt.worker;
  const { job, span } = attempt.held;
  const { value: input } = await validateStoredInput(type, job, stored);
  const [blockers] = job.blockerCount === 0 ? [[]] : await engine.store.getBlockers({ jobIds: [job.id] });
  if (span && blockers!.length > 0) linkBlockers(span, blockers!);
  // Reading may have taken so long that the job is somebody else's by now.
  attempt.checkStillWanted();
  return runHandler(attempt, viewJob(engine, job, blockers!, input));
};

const runHandler = (attempt: Attempt, view: JobView): unknown => {
  const { job } = attempt.held;
  const origin = { jobId: job.id, rootSequenceId: job.rootSequenceId };
  // Not on top of the scope the worker was started in: that is none of the job's business.
  return attempt.worker.engine.scope.run({ origin }, runSynchronousPart, attempt, view);
};

const runSynchronousPart = (attempt: Attempt, view: JobView): unknown => {
  const running = attempt.handler.run(new AttemptOptions(view, attempt));
  attempt.endSynchronousPart();
  return running;
};

const validateStoredInput = async (
  type: RuntimeJobType,
  job: StateJob,
  stored: unknown,
): Promise<ValidatedValue> => {
  try {
    return await validateAgainstSchema(type, job.typeName, "input", stored);
  } catch (error) {
    throw new StoredInputRefused(error);
  }
};

const decideEnding = (
  worker: WorkerContext,
  held: HeldJob,
  ending: Ending,
  abortReason: JobAbortReason | undefined,
  timeoutMs: number | undefined,
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
      return abortReason === "shutdown" ? releaseOutcome(held) : errorOutcome(worker, held, ending.error);
    case "abandoned":
      return abortReason === "shutdown" ? releaseOutcome(held) : undefined;
  }
};
