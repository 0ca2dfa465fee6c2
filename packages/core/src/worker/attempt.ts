import type { JobAbortReason } from "../job-types/entities.ts";
import type { JobView } from "../jobs/view.ts";
import type { AttemptEventData } from "../observability/events.ts";
import { JobAttemptEndedError } from "../store/errors.ts";
import { attemptEventData } from "./attempt-events.ts";
import type { Handler, WorkerContext } from "./context.ts";
import { type AttemptLog, createAttemptLog, type HeldJob, type RunningAttempt } from "./held-jobs.ts";
import {
  decideOutcomeOf,
  type EndedAttempt,
  type EndedSession,
  type Ending,
  type Verdict,
} from "./outcome.ts";
import type { CallMember } from "./transactions.ts";

/** The call of a handler that an attempt belongs to. */
export interface AttemptCall {
  readonly handler: Handler;
  /** Undefined where the handler has used neither `prepare` nor `complete`. */
  readonly session: EndedSession | undefined;
  memberAborted(reason: JobAbortReason): void;
  /** The attempt is over. `wasWanted` unless it had been aborted. */
  memberOver(attempt: Attempt, verdict: Verdict, abandoned: boolean, wasWanted: boolean): void;
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
 * The state of one attempt at a job. The call of the handler, and with it the time to react to an abort, belongs to `Call`.
 *
 *   running ──handler settles──▶ over
 *      │                          ▲
 *      └──abort──▶ aborting ──settles──┤
 *                     └──grace runs out┘   (a later result is dropped and reported)
 *
 * A class, against the house style, because every job has one: methods are shared, where closures would be made and
 * compiled for each.
 */
export class Attempt implements RunningAttempt, CallMember, EndedAttempt {
  readonly worker: WorkerContext;
  readonly held: HeldJob;
  readonly call: AttemptCall;
  readonly timeoutMs: number | undefined;
  readonly startedAt: number;
  view: JobView | undefined = undefined;
  abortReason: JobAbortReason | undefined = undefined;
  over = false;
  completed = false;
  controller: AbortController | undefined = undefined;
  cancelTimeout: (() => void) | undefined = undefined;

  constructor(worker: WorkerContext, held: HeldJob, call: AttemptCall) {
    this.worker = worker;
    this.held = held;
    this.call = call;
    this.timeoutMs = effectiveTimeout(held, call.handler) ?? worker.engine.defaults.timeoutMs;
    this.startedAt = worker.engine.runtime.clock.monotonic();
  }

  readonly eventData = (): AttemptEventData => attemptEventData(this.worker, this.held);

  get session(): EndedSession | undefined {
    return this.call.session;
  }

  /** A worker that shuts down still wants results that handlers return in time. */
  get isWanted(): boolean {
    return !this.over && (this.abortReason === undefined || this.abortReason === "shutdown");
  }

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
    this.call.memberAborted(reason);
  }

  giveUp(): void {
    this.worker.engine.observe("jobAttemptStuck", this.eventData);
    this.settle({ kind: "abandoned" });
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

  getLog(): AttemptLog {
    return (this.held.log ??= createAttemptLog(this.worker.engine.runtime.clock));
  }

  /** The first ending counts; a handler that was given up on may still come to another. */
  settle(ending: Ending): void {
    if (this.over) {
      this.worker.engine.observe("jobAttemptLateResult", this.eventData);
      return;
    }
    const verdict = decideOutcomeOf(this, ending);
    this.close();
    const wasWanted = this.abortReason === undefined;
    this.call.memberOver(this, verdict, ending.kind === "abandoned", wasWanted);
  }

  close(): void {
    const { observe, runtime, tally } = this.worker.engine;
    this.over = true;
    this.cancelTimeout?.();
    this.held.attempt = undefined;
    if (tally.isOn) this.held.ranMs = runtime.clock.monotonic() - this.startedAt;
    observe("jobAttemptDuration", () => ({
      durationMs: runtime.clock.monotonic() - this.startedAt,
      ...this.eventData(),
    }));
  }
}
