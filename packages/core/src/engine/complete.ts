import type { CreatedStateJob, JobOutcome, NewJob } from "../contracts/state-adapter.ts";
import { InvalidOptionError, ProcessMisuseError } from "../errors.ts";
import { encodePayload } from "../model/codec.ts";
import type { StateJob } from "../model/job.ts";
import type { RuntimeJobType } from "../model/job-type-options.ts";
import { requireOptions } from "../model/option-checks.ts";
import type { AfterCommit } from "./after-commit.ts";
import { type Engine, runInScope } from "./engine.ts";
import { validateAgainstSchema } from "./job-type-registry.ts";
import { buildNewJob, continuationOptions, type JobRequest } from "./new-job.ts";
import { refusalError } from "./refusal.ts";
import { announceCreation, createWithBlockers } from "./start.ts";
import { announceOutcome } from "./announce-outcome.ts";
import { traceStart } from "./trace.ts";

/** What a completion callback returns instead of an output when it continued the sequence. */
export interface Continuation {
  readonly continuation: StateJob;
}

export type CompletionCallback = (options: object) => unknown;

export interface CompletionRequest {
  /** Locked by this transaction. */
  readonly job: StateJob;
  /** Null for workerless completion. */
  readonly leaseToken: string | null;
  readonly workerId: string | null;
  readonly callback: CompletionCallback;
  /** Asked just before the outcome is written; throws to call the completion off. */
  readonly checkStillWanted?: () => void;
}

export interface Completion {
  readonly outcome: JobOutcome;
  readonly continuation: StateJob | null;
}

/** Validates and encodes what a handler returned. Synchronous where the type has no schema. */
export const encodeOutput = (engine: Engine, job: StateJob, output: unknown): string | Promise<string> => {
  const type = engine.jobTypes.get(job.typeName);
  if (type.hasOutput === false) refuseOutput(type, job.typeName, output);
  if (!type.output) return encode(engine, output);
  return validateAgainstSchema(type, job.typeName, "output", output).then(({ value }) =>
    encode(engine, value),
  );
};

/** For a type that declares none. What it then promises to whoever waits for the sequence is checked at run time, too. */
const refuseOutput = ({ continuesTo = [] }: RuntimeJobType, typeName: string, output: unknown): void => {
  if (continuesTo.length > 0) {
    const names = continuesTo.map((name) => `"${name}"`).join(" or ");
    throw new ProcessMisuseError(
      `Job type "${typeName}" has no output: its handler must return continueWith, to ${names}`,
    );
  }
  if (output !== undefined && output !== null) {
    throw new ProcessMisuseError(
      `Job type "${typeName}" has no output, but its handler returned one. Declare it with \`output\`, or return nothing`,
    );
  }
};

const encode = ({ codec, maxPayloadBytes }: Engine, value: unknown): string =>
  encodePayload({ codec, value, path: "output", maxBytes: maxPayloadBytes });

/**
 * Completes a locked job inside `ctx`: runs the user's callback, creates the continuation it asked for, and records
 * the outcome. Used by workers and by workerless completion alike.
 */
export const completeInTransaction = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  { job, leaseToken, workerId, callback, checkStillWanted }: CompletionRequest,
): Promise<Completion> => {
  let continuing: Promise<Continuation> | undefined;
  const continueWith = (request: unknown): Promise<Continuation> => {
    if (continuing) throw new ProcessMisuseError("continueWith can only be called once");
    continuing = createContinuation(engine, ctx, afterCommit, job, request);
    // A callback that throws before awaiting this must not leave a rejection that nobody handles.
    continuing.catch(() => {});
    return continuing;
  };

  const origin = { jobId: job.id, rootSequenceId: job.rootSequenceId };
  const returned = await runInScope(engine, { origin, afterCommit }, async () =>
    callback({ ...ctx, continueWith }),
  );
  const continuation = continuing ? await continuing : undefined;
  if (continuation && returned !== continuation) {
    throw new ProcessMisuseError("A callback that calls continueWith must return its result");
  }

  const output = continuation ? null : await encodeOutput(engine, job, returned);
  checkStillWanted?.();
  const outcome: JobOutcome = {
    kind: "complete",
    jobId: job.id,
    leaseToken,
    locked: true,
    output,
    continuedToId: continuation?.continuation.id ?? null,
    completedBy: workerId,
  };
  const [result] = await engine.store.commitOutcomes({ ctx, outcomes: [outcome] });
  if (result!.kind === "refused") throw refusalError(job.id, result!);
  if (result!.kind === "applied") announceOutcome(afterCommit, job, outcome, result!);
  return { outcome, continuation: continuation?.continuation ?? null };
};

/** The options of `continueWith`, for a job of this type. */
export const readContinuation = (engine: Engine, typeName: string, passed: unknown): JobRequest => {
  const request = requireOptions(passed, "continueWith", continuationOptions) as JobRequest;
  const allowed = engine.jobTypes.get(typeName).continuesTo;
  if (allowed && !allowed.includes(request.typeName as string)) {
    throw new InvalidOptionError("typeName", `must be a continuation of "${typeName}"`, request.typeName);
  }
  return request;
};

const createContinuation = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  job: StateJob,
  passed: unknown,
): Promise<Continuation> => {
  const request = readContinuation(engine, job.typeName, passed);
  const built = await buildNewJob(engine, request, job);
  const create = async ([next]: readonly NewJob[]): Promise<CreatedStateJob[]> => {
    if (request.startBlockers !== undefined)
      return createWithBlockers(engine, ctx, afterCommit, [next!], [request.startBlockers]);
    const [created] = await engine.store.createJobs({ ctx, jobs: [next!] });
    announceCreation(afterCommit, created!.job);
    return [created!];
  };
  const data = { operation: "continueWith", predecessor: job } as const;
  const [continuation] = await traceStart(engine.tracer, data, [built], create);
  return { continuation: continuation!.job };
};
