import { decodePayload } from "../base/codec.ts";
import type { StateStore } from "../engine/dispatch.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import { validateAgainstSchema } from "../job-types/registry.ts";
import { type JobView, viewJob } from "../jobs/view.ts";
import type { AttemptEventData } from "../observability/events.ts";
import { isObserved, linkBlockers } from "../observability/observe.ts";
import type { StateSequence } from "../store/contract/job.ts";
import { JobAttemptEndedError } from "../store/errors.ts";
import { attemptEventData } from "./attempt-events.ts";
import type { Handler, WorkerContext } from "./context.ts";
import { type AttemptLog, createAttemptLog, type HeldJob, type RunningAttempt } from "./held-jobs.ts";
import {
  BlockersUnread,
  decideOutcomeOf,
  type EndedAttempt,
  type EndedSession,
  type Ending,
  StoredInputRefused,
  type Outcome,
} from "./outcome.ts";
import type { CallMember } from "./transactions.ts";

/** The call of a handler that an attempt belongs to. */
export interface AttemptCall {
  readonly handler: Handler;
  /** Undefined where the handler has used neither `prepare` nor `complete`. */
  readonly session: EndedSession | undefined;
  memberAborted(reason: JobAbortReason): void;
  /** The attempt is over. `wasWanted` unless it had been aborted. */
  memberOver(attempt: Attempt, outcome: Outcome, abandoned: boolean, wasWanted: boolean): void;
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

  /** Reports an event of this attempt. */
  report(name: "jobAttemptStarted" | "jobAttemptStuck" | "jobAttemptLateResult"): void {
    const { observe } = this.worker.engine;
    if (isObserved(observe)) observe(name, () => this.eventData());
  }

  eventData(): AttemptEventData {
    return attemptEventData(this.worker, this.held);
  }

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
    held.began = true;
    if (this.timeoutMs !== undefined) this.limitTime(this.timeoutMs);
    this.report("jobAttemptStarted");
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
    this.report("jobAttemptStuck");
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
      this.report("jobAttemptLateResult");
      return;
    }
    const outcome = decideOutcomeOf(this, ending);
    this.close();
    const wasWanted = this.abortReason === undefined;
    this.call.memberOver(this, outcome, ending.kind === "abandoned", wasWanted);
  }

  close(): void {
    const { observe, runtime } = this.worker.engine;
    this.over = true;
    this.cancelTimeout?.();
    this.held.attempt = undefined;
    const durationMs = runtime.clock.monotonic() - this.startedAt;
    this.held.ranMs = durationMs;
    if (!isObserved(observe)) return;
    observe("jobAttemptDuration", () => ({ durationMs, ...this.eventData() }));
  }
}

/**
 * Reads the inputs and blockers for the handler. Ends the attempts at jobs that cannot be read; the others continue. A promise only where
 * something has to be waited for.
 */
export const readJobs = (
  { engine }: WorkerContext,
  members: readonly Attempt[],
): Promise<void> | undefined => {
  const hasSchema = engine.jobTypes.get(members[0]!.held.job.typeName).input !== undefined;
  let stored: Map<Attempt, unknown> | undefined;
  for (const member of members) {
    const { job } = member.held;
    try {
      const input = decodePayload(engine.codec, job.input, "input");
      if (hasSchema || job.blockerCount > 0) (stored ??= new Map()).set(member, input);
      else member.view = viewJob(engine, job, [], input);
    } catch (error) {
      member.settle({ kind: "threw", error });
    }
  }
  return stored && validateAndReadBlockers(engine.store, stored, members.length > 1);
};

const validateAndReadBlockers = async (
  store: StateStore,
  stored: ReadonlyMap<Attempt, unknown>,
  shared: boolean,
): Promise<void> => {
  const inputs = new Map<Attempt, unknown>();
  for (const [member, input] of stored) {
    try {
      inputs.set(member, await validateInput(member, input));
    } catch (error) {
      member.settle({ kind: "threw", error });
    }
  }
  const blocked = [...inputs.keys()].filter(({ held }) => held.job.blockerCount > 0);
  let blockers: readonly (readonly StateSequence[])[];
  try {
    blockers = await readBlockers(store, blocked);
  } catch (error) {
    for (const member of inputs.keys()) member.settle({ kind: "threw", error, shared });
    return;
  }
  const byMember = new Map(blocked.map((member, index) => [member, blockers[index]!]));
  for (const [member, input] of inputs) {
    const { worker, held } = member;
    try {
      member.view = viewJob(worker.engine, held.job, byMember.get(member) ?? [], input);
    } catch (error) {
      member.settle({ kind: "threw", error });
    }
  }
};

const validateInput = async ({ worker, held }: Attempt, stored: unknown): Promise<unknown> => {
  const { typeName } = held.job;
  const type = worker.engine.jobTypes.get(typeName);
  if (!type.input) return stored;
  try {
    return (await validateAgainstSchema(type, typeName, "input", stored)).value;
  } catch (error) {
    throw new StoredInputRefused(error);
  }
};

/** Wraps a transient error, so that it is not taken for an error of the handler, which has not run yet. */
const readBlockers = async (
  store: StateStore,
  members: readonly Attempt[],
): Promise<readonly (readonly StateSequence[])[]> => {
  if (members.length === 0) return [];
  let found: readonly (readonly StateSequence[])[];
  try {
    found = await store.getBlockers({ jobIds: members.map(({ held }) => held.job.id) });
  } catch (error) {
    throw store.isTransientError(error) ? new BlockersUnread(error) : error;
  }
  for (const [index, { held }] of members.entries())
    if (held.span && found[index]!.length > 0) linkBlockers(held.span, found[index]!);
  return found;
};
