import type { CreatedStateJob, NewJob } from "../contracts/state-adapter.ts";
import { InvalidOptionError } from "../errors.ts";
import type { StateJob, StateSequence } from "../model/job.ts";
import {
  requireArray,
  requireFunction,
  requireId,
  requireNestedOptions,
  requirePlainObject,
} from "../model/option-checks.ts";
import type { Effects } from "./effects.ts";
import { type Engine, runInScope } from "./engine.ts";
import { buildNewJob, type JobRequest, startOptions } from "./new-job.ts";
import { jobEventData } from "./observe.ts";
import { announceFailure } from "./outcome-effects.ts";
import { traceStart } from "./trace.ts";
import { runAtomically, runSingleCall, findContext } from "./transaction.ts";
import { viewJobWithoutBlockers } from "./view.ts";

const maxBulkStarts = 100_000;
const hintHorizonMs = 60_000;

export interface StartedSequence {
  readonly sequence: StateSequence;
  /** The sequence was there before; nothing was created. */
  readonly deduplicated: boolean;
}

/** Starts one sequence, together with its blockers if its type has any. */
export const startJobSequence = async (engine: Engine, passed: unknown): Promise<StartedSequence> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await findContext(engine, "startJobSequence", options, startOptions);
  const request = options as unknown as JobRequest;
  const job = await buildNewJob(engine, request, null);
  if (request.startBlockers === undefined) {
    const [started] = await createTraced(engine, "startJobSequence", ctx, [job]);
    return started!;
  }
  const startWithBlockers = ([job]: readonly NewJob[]): Promise<StartedSequence[]> =>
    runAtomically(engine, "startJobSequence", ctx, async (inner, effects) => {
      const created = await createWithBlockers(engine, inner, effects, job!, request.startBlockers);
      return readSequences(engine, inner, [created]);
    });
  const trace = { operation: "startJobSequence", predecessor: null } as const;
  const [started] = engine.tracer
    ? await traceStart(engine.tracer, trace, [job], startWithBlockers)
    : await startWithBlockers([job]);
  return started!;
};

/** Starts many sequences, all or none, in one store call. */
export const startJobSequences = async (engine: Engine, passed: unknown): Promise<StartedSequence[]> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await findContext(engine, "startJobSequences", options, { sequences: true });
  const requests = requireArray(options["sequences"], "sequences", { maxLength: maxBulkStarts });
  const jobs: NewJob[] = [];
  for (const [index, item] of requests.entries()) {
    const request = requireNestedOptions(item, `sequences[${index}]`, startOptions) as JobRequest;
    if (request.startBlockers !== undefined) {
      throw new InvalidOptionError(
        `sequences[${index}].startBlockers`,
        "cannot be used in bulk; start a job with blockers by startJobSequence",
      );
    }
    const job = buildNewJob(engine, request, null);
    jobs.push(job instanceof Promise ? await job : job);
  }
  if (jobs.length === 0) return [];
  return createTraced(engine, "startJobSequences", ctx, jobs);
};

const createTraced = (
  engine: Engine,
  operation: "startJobSequence" | "startJobSequences",
  ctx: object | undefined,
  jobs: readonly NewJob[],
): Promise<StartedSequence[]> =>
  engine.tracer
    ? traceStart(engine.tracer, { operation, predecessor: null }, jobs, (traced) =>
        createInOneCall(engine, operation, ctx, traced),
      )
    : createInOneCall(engine, operation, ctx, jobs);

const createInOneCall = (
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  jobs: readonly NewJob[],
): Promise<StartedSequence[]> =>
  runSingleCall(engine, operation, ctx, async (effects) => {
    const results = await engine.store.createJobs({ ctx, jobs });
    const created = results.map((result, index) => recogniseOwnSequence(result, jobs[index]!));
    for (const { job, deduplicated } of created) if (!deduplicated) announceCreation(effects, job);
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
  return created.map(({ job, deduplicated }) => ({
    sequence: (deduplicated ? found[next++] : undefined) ?? { first: job, current: job },
    deduplicated,
  }));
};

/** Creates a job, lets its blockers be started on its behalf, then ties it to them. Needs a transaction. */
export const createWithBlockers = async (
  engine: Engine,
  ctx: object,
  effects: Effects,
  job: NewJob,
  startBlockers: unknown,
): Promise<CreatedStateJob> => {
  requireFunction(startBlockers, "startBlockers");
  const [result] = await engine.store.createJobs({ ctx, jobs: [job] });
  const created = recogniseOwnSequence(result!, job);
  if (created.deduplicated) return created;
  const origin = { jobId: job.id, rootSequenceId: job.rootSequenceId };
  const returned = await runInScope(engine, { origin, effects }, () =>
    (startBlockers as (options: object) => unknown)({
      ...ctx,
      job: viewJobWithoutBlockers(engine, created.job),
    }),
  );
  const blockerSequenceIds = requireArray(returned, "startBlockers", { maxLength: 10_000 }).map(
    (sequence, index) =>
      requireId(requirePlainObject(sequence, `startBlockers[${index}]`)["id"], `startBlockers[${index}].id`),
  );
  const tied = await engine.store.addJobBlockers({ ctx, jobId: job.id, blockerSequenceIds });
  announceCreation(effects, tied);
  return { job: tied, deduplicated: false };
};

/** A retried start with a deduplication key finds the sequence it made itself; that is no duplicate. */
const recogniseOwnSequence = (result: CreatedStateJob, asked: NewJob): CreatedStateJob =>
  result.deduplicated && result.job.id === asked.id ? { job: result.job, deduplicated: false } : result;

export const announceCreation = (effects: Effects, job: StateJob): void => {
  effects.observe("jobCreated", () => ({
    scheduledAt: job.scheduledAt,
    originId: job.originId,
    ...jobEventData(job),
  }));
  if (job.sequenceIndex === 0) effects.observe("jobSequenceCreated", () => jobEventData(job));
  if (job.status === "blocked") effects.observe("jobBlocked", () => jobEventData(job));
  // A woken worker that finds nothing runnable yet sleeps until this job is due; for a distant one a poll is soon enough.
  if (job.status === "pending" && job.scheduledAt - job.createdAt <= hintHorizonMs)
    effects.jobScheduled(job.typeName);
  if (job.status === "failed") announceFailure(effects, job, job.failureReason!, job.lastError);
};
