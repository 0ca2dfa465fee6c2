import { encodePayload } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import { requireOptions } from "../base/options.ts";
import { type AfterCommit, type Engine, runInScope } from "../engine/engine.ts";
import type { RuntimeJobType } from "../job-types/options.ts";
import { validateAgainstSchema } from "../job-types/registry.ts";
import type { AttemptEventData } from "../observability/events.ts";
import { traceContinuations } from "../observability/observe.ts";
import type { CreatedStateJob, NewJob } from "../store/contract/creation.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { JobOutcome, OutcomeResult } from "../store/contract/outcomes.ts";
import { ProcessMisuseError, refusalError } from "../store/errors.ts";
import { isDiscardable } from "../store/rules/checks.ts";
import { announceCreation, announceOutcome } from "./announce.ts";
import { buildNewJob, continuationOptions, type JobRequest } from "./new-job.ts";
import { createWithBlockers } from "./start.ts";
import { type JobView, viewContinuation } from "./view.ts";

/*
 * A batch handler returns an array with a result for each job: the output of the job, or one of these.
 */

/** The job has failed. */
export class FailedResult {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }
}

/** The sequence continues with another job. */
export class ContinuedResult {
  readonly request: JobRequest;
  constructor(request: JobRequest) {
    this.request = request;
  }
}

export const isFailedResult = (result: unknown): result is FailedResult => result instanceof FailedResult;

export const isContinuedResult = (result: unknown): result is ContinuedResult =>
  result instanceof ContinuedResult;

/** The results of a batch handler, one for each job. `undefined` stands for no output of any job. */
export const readBatchResults = (returned: unknown, jobs: number): readonly unknown[] => {
  if (returned === undefined) return Array.from({ length: jobs });
  const length = Array.isArray(returned) ? returned.length : undefined;
  if (length === jobs) return returned as unknown[];
  const what = length === undefined ? "something that is not an array" : `${length} outputs`;
  throw new ProcessMisuseError(
    `The handler of a batch of ${jobs} jobs returned ${what}. Return one output for each job, in the order of the jobs`,
  );
};

/** Validates and encodes what a handler returned. Synchronous where the type has no schema. */
export const encodeOutput = (engine: Engine, job: StateJob, output: unknown): string | Promise<string> => {
  const type = engine.jobTypes.get(job.typeName);
  if (type.hasOutput === false) refuseOutput(type, job.typeName, output);
  if (!type.output) return encode(engine, output);
  return validateAgainstSchema(type, job.typeName, "output", output).then(({ value }) =>
    encode(engine, value),
  );
};

/** For a type that declares no output. The type that callers get for the sequence relies on it, so it is checked at run time. */
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
 * Whether the completion of this job, under a lease, asks the store to delete it. A sequence that a process is known to wait for
 * is kept, so that the process can read the output.
 */
export const isDiscarded = ({ retention, listening }: Engine, job: StateJob): boolean =>
  retention.keepsNothing(job.sequenceTypeName) && isDiscardable(job) && !listening.isAwaited(job.sequenceId);

/** A job that the transaction has locked. */
export interface LockedMember {
  readonly job: StateJob;
  /** Null for workerless completion. */
  readonly leaseToken: string | null;
  /** What the callback of a batch gets. */
  readonly view?: JobView | undefined;
  /** Of the worker's attempt; undefined for workerless completion. */
  readonly attempt?: (() => AttemptEventData) | undefined;
}

export interface CompletionRequest {
  /** All of one type; at least one, and exactly one unless `isBatch`. */
  readonly members: readonly LockedMember[];
  /** The callback gets `jobs` and returns a result for each. Jobs that it starts have no origin. */
  readonly isBatch?: boolean;
  readonly workerId: string | null;
  readonly callback: CompletionCallback;
  /** Called just before the outcomes are written; throws to call the completion off. */
  readonly beforeWrite?: (completion: Completion) => void;
  /** Nothing follows in the transaction, so the store may commit it together with the outcomes. */
  readonly isLast?: boolean;
}

export interface Completion {
  /** The completed jobs, in the order of `outcomes`. */
  readonly members: readonly LockedMember[];
  /** The completions that were written. */
  readonly outcomes: readonly JobOutcome[];
  /** The errors of jobs that have not been completed, by id. */
  readonly failures: ReadonlyMap<string, unknown>;
  /** The new jobs, by the id of the job that each continues. */
  readonly continuations: ReadonlyMap<string, StateJob>;
}

export interface WrittenCompletion extends Completion {
  /** The store's time; null if it recognised the outcomes as written before, or if there are none. */
  readonly at: number | null;
}

export type CompletionCallback = (options: object) => unknown;

/** What the callback made of each job: with a continuation, there is no output. */
interface CallbackResults {
  readonly results: readonly unknown[];
  readonly continuations: ReadonlyMap<string, StateJob>;
}

const noFailures: ReadonlyMap<string, unknown> = new Map();
const noContinuations: ReadonlyMap<string, StateJob> = new Map();
const onlyOne: readonly number[] = [0];

/**
 * Completes locked jobs inside `ctx`: runs the user's callback once, creates the continuations, and records all outcomes in
 * one call. Used by handlers of one job, batch handlers and workerless completion alike.
 */
export const completeAll = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  request: CompletionRequest,
): Promise<WrittenCompletion> => {
  const { members, isBatch, workerId, beforeWrite, isLast } = request;
  const { results, continuations } = await (isBatch ? runBatchCallback : runCallback)(
    engine,
    ctx,
    afterCommit,
    request,
  );
  const failures = isBatch ? failuresIn(members, results) : noFailures;
  const completed: LockedMember[] = [];
  const outcomes: JobOutcome[] = [];
  for (const index of inWriteOrder(members)) {
    const member = members[index]!;
    const { job, leaseToken } = member;
    if (failures.has(job.id)) continue;
    const continuedToId = continuations.get(job.id)?.id ?? null;
    const encoded = continuedToId === null ? encodeOutput(engine, job, results[index]) : null;
    // Only a type with a schema returns a promise; a batch must not wait once for each of its jobs.
    const output = encoded instanceof Promise ? await encoded : encoded;
    const outcome: JobOutcome = {
      kind: "complete",
      jobId: job.id,
      leaseToken,
      locked: true,
      output,
      continuedToId,
      completedBy: workerId,
    };
    completed.push(member);
    const isKept = continuedToId !== null || leaseToken === null || !isDiscarded(engine, job);
    outcomes.push(isKept ? outcome : { ...outcome, keep: false });
  }
  const completion: Completion = { members: completed, outcomes, failures, continuations };
  beforeWrite?.(completion);
  if (outcomes.length === 0) return { ...completion, at: null };
  const written = await engine.store.commitOutcomes({ ctx, outcomes, ...(isLast && { isLast }) });
  announceCompletion(afterCommit, completion, written);
  const [first] = written;
  return { ...completion, at: first?.kind === "applied" ? first.at : null };
};

/** Positions by job id: the one order in which outcomes are written everywhere. */
const inWriteOrder = (members: readonly LockedMember[]): readonly number[] =>
  members.length === 1
    ? onlyOne
    : [...members.keys()].sort((a, b) => (members[a]!.job.id < members[b]!.job.id ? -1 : 1));

const failuresIn = (members: readonly LockedMember[], results: readonly unknown[]): Map<string, unknown> => {
  const failures = new Map<string, unknown>();
  for (const [index, result] of results.entries())
    if (isFailedResult(result)) failures.set(members[index]!.job.id, result.error);
  return failures;
};

/** `continueWith` creates the continuation at once, so that the callback can use it. */
const runCallback = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  { members, callback }: CompletionRequest,
): Promise<CallbackResults> => {
  const { job } = members[0]!;
  let next: StateJob | undefined;
  let continuing: Promise<object> | undefined;
  const createContinuation = async (passed: unknown): Promise<object> => {
    const request = readContinuation(engine, job.typeName, passed);
    [next] = await createContinuations(engine, ctx, afterCommit, [{ job, request }]);
    return viewContinuation(engine, next!);
  };
  const continueWith = (passed: unknown): Promise<object> => {
    if (continuing) throw new ProcessMisuseError("continueWith can only be called once");
    continuing = createContinuation(passed);
    // A callback that throws before it awaits this must not leave an unhandled rejection.
    continuing.catch(() => {});
    return continuing;
  };
  const origin = { jobId: job.id, rootSequenceId: job.rootSequenceId };
  const returned = await runInScope(engine, { origin, afterCommit }, async () =>
    callback({ ...ctx, continueWith }),
  );
  if (!continuing) return { results: [returned], continuations: noContinuations };
  if (returned !== (await continuing)) {
    throw new ProcessMisuseError("A callback that calls continueWith must return its result");
  }
  return { results: [null], continuations: new Map([[job.id, next!]]) };
};

/** `continueWith` returns a result; all continuations are created in one call when the callback has returned. */
const runBatchCallback = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  { members, callback }: CompletionRequest,
): Promise<CallbackResults> => {
  const { typeName } = members[0]!.job;
  const continueWith = (passed: unknown): ContinuedResult =>
    new ContinuedResult(readContinuation(engine, typeName, passed));
  const jobs = members.map(({ view }) => view);
  const returned = await runInScope(engine, { afterCommit }, async () =>
    callback({ ...ctx, jobs, continueWith }),
  );
  const results = readBatchResults(returned, members.length);
  const continued = inWriteOrder(members).flatMap((index) => {
    const result = results[index];
    return isContinuedResult(result) ? [{ job: members[index]!.job, request: result.request }] : [];
  });
  const created = await createContinuations(engine, ctx, afterCommit, continued);
  return { results, continuations: new Map(created.map((job, index) => [continued[index]!.job.id, job])) };
};

/** Announces what the store has answered to the outcomes. Throws if it refused one. */
const announceCompletion = (
  afterCommit: AfterCommit,
  { members, outcomes }: Completion,
  results: readonly OutcomeResult[],
): void => {
  for (const [index, result] of results.entries()) {
    const { job, attempt } = members[index]!;
    if (result.kind === "refused") throw refusalError(job.id, result);
    if (result.kind === "applied") announceOutcome(afterCommit, job, outcomes[index]!, result, attempt);
  }
};

/** For a completion that was committed although the answer of the store is lost. Only a plain one is committed with its answer. */
export const announceLostCompletion = (
  afterCommit: AfterCommit,
  completion: Completion,
  at: number,
): void => {
  const result: OutcomeResult = { kind: "applied", at, unblocked: [], cascaded: [] };
  announceCompletion(
    afterCommit,
    completion,
    completion.outcomes.map(() => result),
  );
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

/** Creates the jobs that continue these, in one call. */
const createContinuations = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  continued: readonly { readonly job: StateJob; readonly request: JobRequest }[],
): Promise<readonly StateJob[]> => {
  if (continued.length === 0) return [];
  const jobs: NewJob[] = [];
  for (const { job, request } of continued) jobs.push(await buildNewJob(engine, request, job));
  const callbacks = continued.map(({ request }) => request.startBlockers);
  const create = async (traced: readonly NewJob[]): Promise<CreatedStateJob[]> => {
    if (callbacks.some((callback) => callback !== undefined))
      return createWithBlockers(engine, ctx, afterCommit, traced, callbacks);
    const created = await engine.store.createJobs({ ctx, jobs: traced });
    for (const { job } of created) announceCreation(afterCommit, job);
    return created;
  };
  const predecessors = continued.map(({ job }) => job);
  const created = await traceContinuations(engine.tracer, predecessors, jobs, create);
  return created.map(({ job }) => job);
};
