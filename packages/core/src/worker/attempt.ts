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
import type { RuntimeJobType } from "../model/job-types.ts";
import { attemptEventData } from "./attempt-events.ts";
import { completeOutcome, errorOutcome, releaseOutcome, StoredInputRefused } from "./decide-outcome.ts";
import type { HeldJob } from "./held-jobs.ts";
import { createProcessSession, type ProcessSession } from "./process-session.ts";
import type { Handler, WorkerContext } from "./worker-context.ts";

/** How a process function ended: by itself, or given up on after it ignored its signal. */
type Ending =
  | { kind: "returned"; value: unknown }
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
  onEnd: (outcome: JobOutcome | undefined, abandoned: boolean) => void,
): void => {
  const { engine, settings } = worker;
  const { observe, runtime } = engine;
  const { clock } = runtime;
  const startedAt = clock.monotonic();
  let controller: AbortController | undefined;
  let abortReason: JobAbortReason | undefined;
  let cancelTimeout: (() => void) | undefined;
  let cancelGrace: (() => void) | undefined;
  let over = false;

  let session: ProcessSession | undefined;
  let synchronousPartOver = false;

  const end = (outcome: JobOutcome | undefined, ending: Ending): void => {
    over = true;
    cancelTimeout?.();
    cancelGrace?.();
    held.abort = undefined;
    session?.close();
    observe("jobAttemptDuration", () => ({
      durationMs: clock.monotonic() - startedAt,
      ...attemptEventData(worker, held),
    }));
    if (session?.completed) {
      observe("jobAttemptCompleted", () => attemptEventData(worker, held));
      if (held.span) endRecordedSpan(held.span, "completed");
    } else if (!outcome && held.span) endLostSpan(held.span, null);
    onEnd(outcome, ending.kind === "abandoned");
  };

  const abort = (reason: JobAbortReason): void => {
    if (over || abortReason !== undefined) return;
    abortReason = reason;
    if (held.span) held.span.abortReason = reason;
    controller?.abort(reason);
    cancelGrace = clock.setTimer(() => {
      observe("jobAttemptStuck", () => attemptEventData(worker, held));
      settle({ kind: "abandoned" });
    }, settings.abortGraceMs);
  };

  const settle = (ending: Ending): void => {
    if (over) {
      observe("jobAttemptLateResult", () => attemptEventData(worker, held));
      return;
    }
    if (session?.completed || (abortReason !== undefined && lostForCertain.has(abortReason)))
      end(undefined, ending);
    else end(decideEnding(worker, held, ending, abortReason, timeoutMs), ending);
  };

  const tools: AttemptTools = {
    checkStillWanted: () => {
      if (over || abortReason !== undefined) {
        throw new JobAttemptEndedError(held.job.id, abortReason ?? "it was given up on");
      }
    },
    getSignal: () => (controller ??= createController(abortReason)).signal,
    getSession: () =>
      (session ??= createProcessSession(worker, held, () => abortReason, synchronousPartOver)),
    endSynchronousPart: () => {
      synchronousPartOver = true;
      session?.endSynchronousPart();
    },
    finish: (returned) => (session ? session.finish(returned) : encodeOutput(engine, held.job, returned)),
  };

  const timeoutMs = effectiveTimeout(held, handler);
  if (timeoutMs !== undefined) {
    cancelTimeout = clock.setTimer(() => {
      observe("jobAttemptTimedOut", () => ({ timeoutMs, ...attemptEventData(worker, held) }));
      abort("timeout");
    }, timeoutMs);
  }
  held.abort = abort;
  observe("jobAttemptStarted", () => attemptEventData(worker, held));
  const span = (held.span = engine.tracer && startSpan(worker, held, engine.tracer));

  const running = span
    ? runInSpan(span, () => execute(worker, held, handler, tools))
    : execute(worker, held, handler, tools);
  running.then(
    (value) => settle({ kind: "returned", value }),
    (error: unknown) => settle({ kind: "threw", error }),
  );
};

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

/** What a process function may ask for. Made on demand: those of short jobs mostly look at nothing but the job. */
interface AttemptTools {
  /** Throws when the attempt has been aborted or given up on. */
  checkStillWanted(): void;
  getSignal(): AbortSignal;
  getSession(): ProcessSession;
  endSynchronousPart(): void;
  /** The output to commit; undefined when it is committed already. */
  finish(returned: unknown): Promise<string | undefined>;
}

/**
 * What a process function and its middleware are given. A class, against the house style, because accessors in an
 * object literal cost every job its own hidden class; these are shared.
 */
class AttemptOptions {
  readonly job: JobView;
  readonly workerId: string;
  readonly #tools: AttemptTools;

  constructor(job: JobView, workerId: string, tools: AttemptTools) {
    this.job = job;
    this.workerId = workerId;
    this.#tools = tools;
  }

  get signal(): AbortSignal {
    return this.#tools.getSignal();
  }

  get prepare(): unknown {
    return this.#tools.getSession().prepare();
  }

  get complete(): unknown {
    return this.#tools.getSession().complete;
  }

  get reportProgress(): unknown {
    return this.#tools.getSession().reportProgress;
  }
}

/** Reads the job, runs the handler, and encodes what it returned. */
const execute = async (
  worker: WorkerContext,
  held: HeldJob,
  handler: Handler,
  tools: AttemptTools,
): Promise<string | undefined> => {
  const view = await readJobView(worker, held);
  // Reading it may have taken so long that the job is somebody else's by now.
  tools.checkStillWanted();
  const options = new AttemptOptions(view, worker.settings.workerId, tools);
  const origin = { jobId: held.job.id, rootSequenceId: held.job.rootSequenceId };
  // Not on top of the scope the worker was started in: that is none of the job's business.
  return tools.finish(await worker.engine.scope.run({ origin }, runHandler, handler, options, tools));
};

const runHandler = (handler: Handler, options: AttemptOptions, tools: AttemptTools): unknown => {
  const running = handler.run(options);
  tools.endSynchronousPart();
  return running;
};

const readJobView = async ({ engine }: WorkerContext, { job, span }: HeldJob): Promise<JobView> => {
  const type = engine.jobTypes.get(job.typeName);
  const stored = decodePayload(engine.codec, job.input, "input");
  const { value: input } = type.input ? await validateStoredInput(type, job, stored) : { value: stored };
  const [blockers] = job.blockerCount === 0 ? [[]] : await engine.store.getBlockers({ jobIds: [job.id] });
  if (span && blockers!.length > 0) linkBlockers(span, blockers!);
  return viewJob(engine, job, blockers!, input);
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
      return completeOutcome(worker, held, ending.value as string);
    case "threw":
      return abortReason === "shutdown" ? releaseOutcome(held) : errorOutcome(worker, held, ending.error);
    case "abandoned":
      return abortReason === "shutdown" ? releaseOutcome(held) : undefined;
  }
};
