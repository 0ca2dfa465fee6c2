import type { CreatedStateJob, JobOutcome, NewJob } from "../contracts/state-adapter.ts";
import type { StateJob } from "../model/job.ts";
import type { AfterCommit } from "./after-commit.ts";
import { announceOutcome } from "./announce-outcome.ts";
import { ContinuedPlace, isContinuedPlace, isFailedPlace, readPlaces } from "./batch-places.ts";
import { type CompletionCallback, encodeOutput, readContinuation } from "./complete.ts";
import { type Engine, runInScope } from "./engine.ts";
import { buildNewJob } from "./new-job.ts";
import { refusalError } from "./refusal.ts";
import { announceCreation, createWithBlockers } from "./start.ts";
import { traceContinuations } from "./trace.ts";
import type { JobView } from "./view.ts";

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
  const continueWith = (passed: unknown): ContinuedPlace =>
    new ContinuedPlace(readContinuation(engine, typeName, passed));
  const jobs = locked.map(({ view }) => view);
  const returned = await runInScope(engine, { afterCommit }, async () =>
    callback({ ...ctx, jobs, continueWith }),
  );

  const places = readPlaces(returned, locked.length);
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
