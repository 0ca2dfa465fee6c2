import { encodePayload } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import { isArray, isInstance, requireOptions } from "../base/options.ts";
import { type AfterCommit, type Engine, runInScope } from "../engine/engine.ts";
import type { RuntimeJobType } from "../job-types/options.ts";
import { validateAgainstSchema } from "../job-types/registry.ts";
import { traceContinuations, traceStart } from "../observability/observe.ts";
import type { CreatedStateJob, NewJob } from "../store/contract/creation.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { JobOutcome } from "../store/contract/outcomes.ts";
import { ProcessMisuseError, refusalError } from "../store/errors.ts";
import { announceOutcome } from "./announce.ts";
import { buildNewJob, continuationOptions, type JobRequest } from "./new-job.ts";
import { announceCreation, createWithBlockers } from "./start.ts";
import type { JobView } from "./view.ts";

/*
 * A batch handler returns an array with a place for each job. In a place is the output of the job, or one of these.
 */

/** The job of this place has failed. */
export class FailedResult {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }
}

/** The sequence of the job in this place goes on with another job. */
export class ContinuedResult {
  readonly request: JobRequest;
  constructor(request: JobRequest) {
    this.request = request;
  }
}

export const isFailedPlace = (place: unknown): place is FailedResult => isInstance(place, FailedResult);

export const isContinuedPlace = (place: unknown): place is ContinuedResult =>
  isInstance(place, ContinuedResult);

/** What was returned, place by place. Nothing at all stands for nothing in every place. */
export const readBatchResults = (returned: unknown, jobs: number): readonly unknown[] => {
  if (returned === undefined) return Array.from({ length: jobs });
  const length = isArray(returned) ? returned.length : undefined;
  if (length === jobs) return Array.from({ length }, (_place, index) => (returned as unknown[])[index]);
  const what = length === undefined ? "something that is not an array" : `${length} outputs`;
  throw new ProcessMisuseError(
    `The handler of a batch of ${jobs} jobs returned ${what}. Return one output for each job, in the order of the jobs`,
  );
};

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
const readContinuation = (engine: Engine, typeName: string, passed: unknown): JobRequest => {
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

/** A job of the batch, locked by this transaction. */
export interface LockedBatchJob {
  readonly job: StateJob;
  readonly leaseToken: string;
  readonly view: JobView;
}

export interface BatchCompletionRequest {
  /** All of one type; at least one. */
  readonly locked: readonly LockedBatchJob[];
  readonly workerId: string;
  readonly callback: CompletionCallback;
  /** Asked just before the outcomes are written; throws to call the completion off. */
  readonly checkStillWanted: () => void;
}

export interface BatchCompletion {
  /** The completions that were written. */
  readonly outcomes: readonly JobOutcome[];
  /** What the jobs failed with that have not been completed, by id. */
  readonly failures: ReadonlyMap<string, unknown>;
}

interface FilledPlace extends LockedBatchJob {
  readonly place: unknown;
}

/**
 * Completes locked jobs inside `ctx`: runs the user's callback once, creates the continuations in one call, and records
 * the outcomes in another. All or none, as the transaction decides.
 */
export const completeBatchInTransaction = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  { locked, workerId, callback, checkStillWanted }: BatchCompletionRequest,
): Promise<BatchCompletion> => {
  const { typeName } = locked[0]!.job;
  const continueWith = (passed: unknown): ContinuedResult =>
    new ContinuedResult(readContinuation(engine, typeName, passed));
  const jobs = locked.map(({ view }) => view);
  const returned = await runInScope(engine, { afterCommit }, async () =>
    callback({ ...ctx, jobs, continueWith }),
  );

  const places = readBatchResults(returned, locked.length);
  const filled = locked.map((job, index): FilledPlace => ({ ...job, place: places[index] }));
  const failures = new Map<string, unknown>();
  for (const { job, place } of filled) if (isFailedPlace(place)) failures.set(job.id, place.error);
  // In the one order in which outcomes are written everywhere.
  const completed = filled
    .filter(({ job }) => !failures.has(job.id))
    .sort((a, b) => (a.job.id < b.job.id ? -1 : 1));

  const continuations = await createContinuations(engine, ctx, afterCommit, completed);
  const outcomes: JobOutcome[] = [];
  for (const { job, leaseToken, place } of completed) {
    const continuedToId = continuations.get(job.id) ?? null;
    const output = continuedToId === null ? await encodeOutput(engine, job, place) : null;
    const base = { jobId: job.id, leaseToken, locked: true };
    outcomes.push({ kind: "complete", ...base, output, continuedToId, completedBy: workerId });
  }
  checkStillWanted();
  await writeOutcomes(engine, ctx, afterCommit, completed, outcomes);
  return { outcomes, failures };
};

const writeOutcomes = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  completed: readonly LockedBatchJob[],
  outcomes: readonly JobOutcome[],
): Promise<void> => {
  if (outcomes.length === 0) return;
  const results = await engine.store.commitOutcomes({ ctx, outcomes });
  for (const [index, result] of results.entries()) {
    const { job } = completed[index]!;
    if (result.kind === "refused") throw refusalError(job.id, result);
    if (result.kind === "applied") announceOutcome(afterCommit, job, outcomes[index]!, result);
  }
};

/** The ids of the new jobs, by the job that each of them continues. */
const createContinuations = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  completed: readonly FilledPlace[],
): Promise<Map<string, string>> => {
  const predecessors: StateJob[] = [];
  const jobs: NewJob[] = [];
  const callbacks: unknown[] = [];
  for (const { job, place } of completed) {
    if (!isContinuedPlace(place)) continue;
    predecessors.push(job);
    jobs.push(await buildNewJob(engine, place.request, job));
    callbacks.push(place.request.startBlockers);
  }
  if (jobs.length === 0) return new Map();
  const create = async (traced: readonly NewJob[]): Promise<CreatedStateJob[]> => {
    if (callbacks.some((callback) => callback !== undefined))
      return createWithBlockers(engine, ctx, afterCommit, traced, callbacks);
    const created = await engine.store.createJobs({ ctx, jobs: traced });
    for (const { job } of created) announceCreation(afterCommit, job);
    return created;
  };
  const created = await traceContinuations(engine.tracer, predecessors, jobs, create);
  return new Map(created.map(({ job }, index) => [predecessors[index]!.id, job.id]));
};
