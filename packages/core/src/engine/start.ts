import type { CreatedStateJob, NewJob } from "../contracts/state-adapter.ts";
import type { StateJob } from "../model/job.ts";
import { requireArray, requireId, requireNestedOptions, requirePlainObject } from "../model/option-checks.ts";
import type { AfterCommit } from "./after-commit.ts";
import { type Engine, runInScope } from "./engine.ts";
import { requireDeclaredBlockers, rememberTypes } from "./declared-blockers.ts";
import { buildNewJob, type JobRequest, startOptions } from "./new-job.ts";
import { jobEventData } from "./observe.ts";
import { announceFailure } from "./announce-outcome.ts";
import { traceStart } from "./trace.ts";
import { runAtomically, announceAfter, resolveTransaction } from "./transaction.ts";
import { type StartedSequence, viewJobWithoutBlockers } from "./view.ts";

const maxBulkStarts = 100_000;
const hintHorizonMs = 60_000;

/** Starts one sequence, together with its blockers if its type has any. */
export const startJobSequence = async (engine: Engine, passed: unknown): Promise<StartedSequence> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "startJobSequence", options, startOptions);
  const request = options as unknown as JobRequest;
  const job = await buildNewJob(engine, request, null);
  const [started] = await startAll(engine, "startJobSequence", ctx, [job], [request.startBlockers]);
  return started!;
};

/** Starts many sequences, all or none: in one store call, unless there are blockers to be started with them. */
export const startJobSequences = async (engine: Engine, passed: unknown): Promise<StartedSequence[]> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "startJobSequences", options, { sequences: true });
  const requests = requireArray(options["sequences"], "sequences", { maxLength: maxBulkStarts });
  const jobs: NewJob[] = [];
  const callbacks: unknown[] = [];
  for (const [index, item] of requests.entries()) {
    const request = requireNestedOptions(item, `sequences[${index}]`, startOptions) as JobRequest;
    const job = buildNewJob(engine, request, null, `sequences[${index}].`);
    jobs.push(job instanceof Promise ? await job : job);
    callbacks.push(request.startBlockers);
  }
  if (jobs.length === 0) return [];
  return startAll(engine, "startJobSequences", ctx, jobs, callbacks);
};

/** `callbacks` are the `startBlockers` of the jobs, undefined for those without. */
const startAll = async (
  engine: Engine,
  operation: "startJobSequence" | "startJobSequences",
  ctx: object | undefined,
  jobs: readonly NewJob[],
  callbacks: readonly unknown[],
): Promise<StartedSequence[]> => {
  const start = (traced: readonly NewJob[]): Promise<StartedSequence[]> =>
    callbacks.every((callback) => callback === undefined)
      ? createInOneCall(engine, operation, ctx, traced)
      : runAtomically(engine, operation, ctx, async (inner, afterCommit) =>
          readSequences(
            engine,
            inner,
            await createWithBlockers(engine, inner, afterCommit, traced, callbacks),
          ),
        );
  const started = await traceStart(engine.tracer, { operation, predecessor: null }, jobs, start);
  rememberTypes(engine, started);
  return started;
};

const createInOneCall = (
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  jobs: readonly NewJob[],
): Promise<StartedSequence[]> =>
  announceAfter(engine, operation, ctx, async (afterCommit) => {
    const results = await engine.store.createJobs({ ctx, jobs });
    const created = results.map((result, index) => matchRetriedStart(result, jobs[index]!));
    for (const [index, result] of created.entries()) announceStart(afterCommit, jobs[index]!, result);
    return readSequences(engine, ctx, created);
  });

/** A new sequence is its one job; only what was there before has to be read. */
const readSequences = async (
  engine: Engine,
  ctx: object | undefined,
  created: readonly CreatedStateJob[],
): Promise<StartedSequence[]> => {
  const sequenceIds = created.filter(({ deduplicated }) => deduplicated).map(({ job }) => job.sequenceId);
  const found = sequenceIds.length === 0 ? [] : await engine.store.getSequences({ ctx, sequenceIds });
  let next = 0;
  return created.map(({ job, deduplicated, replaced = false }) => ({
    sequence: (deduplicated ? found[next++] : undefined) ?? { first: job, current: job },
    deduplicated,
    replaced,
  }));
};

/** Creates jobs, lets their blockers be started on their behalf, then ties them to those. Needs a transaction. */
export const createWithBlockers = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  jobs: readonly NewJob[],
  callbacks: readonly unknown[],
): Promise<CreatedStateJob[]> => {
  const results = await engine.store.createJobs({ ctx, jobs });
  const created: CreatedStateJob[] = [];
  for (const [index, result] of results.entries()) {
    const started = matchRetriedStart(result, jobs[index]!);
    const callback = started.deduplicated ? undefined : callbacks[index];
    const job =
      callback === undefined
        ? started.job
        : await startBlockersOf(engine, ctx, afterCommit, started.job, callback);
    announceStart(afterCommit, jobs[index]!, { ...started, job });
    created.push({ ...started, job });
  }
  return created;
};

const startBlockersOf = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  job: StateJob,
  startBlockers: unknown,
): Promise<StateJob> => {
  const origin = { jobId: job.id, rootSequenceId: job.rootSequenceId };
  const startedTypes = new Map<string, string>();
  const returned = await runInScope(engine, { origin, afterCommit, startedTypes }, () =>
    (startBlockers as (options: object) => unknown)({ ...ctx, job: viewJobWithoutBlockers(engine, job) }),
  );
  const blockerSequenceIds = requireArray(returned, "startBlockers", { maxLength: 10_000 }).map(
    (sequence, index) =>
      requireId(requirePlainObject(sequence, `startBlockers[${index}]`)["id"], `startBlockers[${index}].id`),
  );
  await requireDeclaredBlockers(engine, ctx, job.typeName, blockerSequenceIds, startedTypes);
  return engine.store.addJobBlockers({ ctx, jobId: job.id, blockerSequenceIds });
};

/** A retried start with a deduplication key finds the sequence it made itself; that is no duplicate. */
const matchRetriedStart = (result: CreatedStateJob, asked: NewJob): CreatedStateJob =>
  result.deduplicated && result.job.id === asked.id ? { job: result.job, deduplicated: false } : result;

const announceStart = (
  afterCommit: AfterCommit,
  { deduplication }: NewJob,
  { job, deduplicated, replaced }: CreatedStateJob,
): void => {
  if (!deduplicated) announceCreation(afterCommit, job);
  else if (replaced) announceUpdate(afterCommit, job, "start", deduplication?.onDuplicate !== "replace");
};

/** A job that waited was changed. If it may run earlier than before, a worker has to look again. */
export const announceUpdate = (
  afterCommit: AfterCommit,
  job: StateJob,
  changedBy: "start" | "update",
  mayRunEarlier: boolean,
): void => {
  const { scheduledAt } = job;
  afterCommit.observe("jobUpdated", () => ({ scheduledAt, changedBy, ...jobEventData(job) }));
  if (mayRunEarlier && job.status === "pending") afterCommit.notify("jobScheduled", job.typeName);
};

export const announceCreation = (afterCommit: AfterCommit, job: StateJob): void => {
  afterCommit.count(job, "created");
  afterCommit.observe("jobCreated", () => ({
    scheduledAt: job.scheduledAt,
    originId: job.originId,
    ...jobEventData(job),
  }));
  if (job.sequenceIndex === 0) afterCommit.observe("jobSequenceCreated", () => jobEventData(job));
  if (job.status === "blocked") afterCommit.observe("jobBlocked", () => jobEventData(job));
  // A woken worker that finds nothing runnable yet sleeps until this job is due; for a distant one a poll is soon enough.
  if (job.status === "pending" && job.scheduledAt - job.createdAt <= hintHorizonMs)
    afterCommit.notify("jobScheduled", job.typeName);
  if (job.status === "failed") announceFailure(afterCommit, job, job.failureReason!, job.lastError);
};
