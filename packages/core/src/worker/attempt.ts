import type { AttemptEventData } from "../contracts/events.ts";
import { JobAttemptEndedError } from "../errors.ts";
import type { JobAbortReason } from "../model/entities.ts";
import { attemptEventData } from "./attempt-events.ts";
import { type AttemptLog, createAttemptLog } from "./attempt-log.ts";
import { createHandlerSession, type HandlerSession } from "./handler-session.ts";
import type { HeldJob, RunningAttempt } from "./held-jobs.ts";
import { type EndedAttempt, type Ending, judgeEnding, type Verdict } from "./judge-ending.ts";
import type { Handler, WorkerContext } from "./worker-context.ts";

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
    const verdict = judgeEnding(this.getEnded(), ending);
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
