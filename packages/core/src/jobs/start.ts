import { InvalidOptionError } from "../base/errors.ts";
import { requireArray, requireId, requireNestedOptions, requirePlainObject } from "../base/options.ts";
import { type AfterCommit, type Engine, runInScope } from "../engine/engine.ts";
import { announceAfter, resolveTransaction, runAtomically } from "../engine/operation.ts";
import { jobEventData, traceStart } from "../observability/observe.ts";
import type { CreatedStateJob, NewJob } from "../store/contract/creation.ts";
import type { StateJob, StateSequence } from "../store/contract/job.ts";
import { announceCreation, announceFirstStatus, announceNewJob } from "./announce.ts";
import { buildNewJob, type JobRequest, startOptions } from "./new-job.ts";
import { type StartedSequence, viewJobWithoutBlockers } from "./view.ts";

/** Inside `startBlockers`: what is started there need not be read again to learn its type. */
const rememberTypes = (engine: Engine, started: readonly { readonly sequence: StateSequence }[]): void => {
  const types = engine.scope.getStore()?.startedTypes;
  if (types) for (const { sequence } of started) types.set(sequence.first.id, sequence.first.typeName);
};

/**
 * Checks that `startBlockers` returned what the job type declares: as many sequences, of these types, in this order. A
 * type that exists for the compiler only declares nothing at run time.
 */
const requireDeclaredBlockers = async (
  engine: Engine,
  ctx: object,
  typeName: string,
  sequenceIds: readonly string[],
  startedTypes: ReadonlyMap<string, string>,
): Promise<void> => {
  const { blockers: declared, blockersVary } = engine.jobTypes.get(typeName);
  if (!declared) return;
  const names = declared.map((name) => `"${name}"`).join(", ");
  if (!blockersVary && sequenceIds.length !== declared.length) {
    throw new InvalidOptionError(
      "startBlockers",
      `must return as many sequences as job type "${typeName}" has blockers (${names})`,
      sequenceIds.length,
    );
  }
  const others = sequenceIds.filter((id) => !startedTypes.has(id));
  const found = others.length === 0 ? [] : await engine.store.getSequences({ ctx, sequenceIds: others });
  const otherTypes = new Map(others.map((id, index) => [id, found[index]?.first.typeName]));
  for (const [index, id] of sequenceIds.entries()) {
    const actual = startedTypes.get(id) ?? otherTypes.get(id);
    // The store refuses one that does not exist.
    if (actual === undefined) continue;
    if (blockersVary ? declared.includes(actual) : actual === declared[index]) continue;
    const expected = blockersVary ? names : `"${declared[index]}"`;
    throw new InvalidOptionError(
      `startBlockers[${index}]`,
      `must be a sequence of type ${expected}, which job type "${typeName}" waits for`,
      actual,
    );
  }
};

const maxBulkStarts = 100_000;

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
    if (callback === undefined) {
      announceStart(afterCommit, jobs[index]!, started);
      created.push(started);
      continue;
    }
    announceNewJob(afterCommit, started.job);
    const job = await startBlockersOf(engine, ctx, afterCommit, started.job, callback);
    announceFirstStatus(afterCommit, job);
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
