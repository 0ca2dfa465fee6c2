import assert from "node:assert/strict";
import type { CreatedStateJob, NewJob, NewJobDeduplication } from "../../store/contract/creation.ts";
import { BlockerCycleError, JobAlreadyExistsError, JobNotFoundError } from "../../store/errors.ts";
import type { Schedule } from "../../store/contract/job.ts";
import { assertRejects, assertSameJob } from "./compare.ts";
import type { Draw } from "./draw.ts";
import { limitedQueue, groups } from "./limit-groups.ts";
import { addBlockers, createJob, duplicatesOf, waitsFor } from "./create.ts";
import { replaceDuplicate } from "./waiting-jobs.ts";
import { allJobs, sequenceIds } from "./store.ts";
import { type Action, ExpectedRejection, inTransaction, type World } from "./world.ts";

export const queues = ["queue-1", "queue-2"] as const;
export const typeNames = ["type-a", "type-b"] as const;

/** Few keys and few different times, so that jobs collide. */
const deduplications: readonly (NewJobDeduplication | null)[] = [
  null,
  null,
  null,
  { key: "key-1", scope: "unfinished", windowMs: null },
  { key: "key-1", scope: "all", windowMs: null },
  { key: "key-1", scope: "all", windowMs: 3_000 },
  { key: "key-1", scope: "unfinished", windowMs: 1_000 },
  { key: "key-2", scope: "unfinished", windowMs: null },
];

export const drawSchedule = (draw: Draw, now: number): Schedule =>
  draw.pick<Schedule>([
    { afterMs: 0 },
    { afterMs: 0 },
    { afterMs: 1_000 },
    { afterMs: 4_000 },
    { at: now - 1_000 },
    { at: now + 2_000 },
  ]);

/** For stores with the part `edits`. */
const replacements: readonly NewJobDeduplication[] = [
  { key: "key-1", scope: "pending", windowMs: null },
  { key: "key-1", scope: "pending", windowMs: null, onDuplicate: "replace" },
  { key: "key-1", scope: "unfinished", windowMs: null, onDuplicate: "replace" },
  { key: "key-2", scope: "all", windowMs: 3_000, onDuplicate: "replace" },
  { key: "key-1", scope: "pending", windowMs: null, onDuplicate: { debounce: { maxDelayMs: 3_000 } } },
  { key: "key-2", scope: "unfinished", windowMs: null, onDuplicate: { debounce: { maxDelayMs: 20_000 } } },
];

/** Groups and rules have a queue of their own. */
const drawPlace = (
  { about }: World,
  draw: Draw,
  typeName: string,
): Pick<NewJob, "queue" | "group" | "ordered"> => {
  if (about === "jobs") return { queue: draw.pick(queues), group: null, ordered: null };
  const group = draw.pick([null, ...groups, ...groups]);
  const ordered = typeName === typeNames[0] ? "continue" : "stop";
  return { queue: limitedQueue, group, ordered: group?.startsWith("ordered") === true ? ordered : null };
};

const drawSettings = (world: World, draw: Draw, typeName: string) => ({
  ...drawPlace(world, draw, typeName),
  priority: draw.pick([0, 0, 5, -1]),
  schedule: drawSchedule(draw, world.now),
  maxAttempts: draw.pick([2, 1, 4]),
  maxAttemptsGiven: draw.pick([true, false]),
  leaseMs: draw.pick([null, null, 2_000]),
  timeoutMs: draw.pick([null, 500]),
  onBlockerFailure: draw.pick(["fail", "wait"] as const),
  input: draw.pick(["null", '{"n":1}']),
});

/** A new sequence: a tree of its own, or started by some job and so a part of the tree of that job. */
const drawNewJob = (world: World, draw: Draw): NewJob => {
  const { adapter, model, createId } = world;
  const id = createId();
  const typeName = draw.pick(typeNames);
  const settings = drawSettings(world, draw, typeName);
  const deduplication = draw.pick(
    adapter.edits === undefined ? deduplications : [...deduplications, ...replacements],
  );
  const expireAfterMs = adapter.edits === undefined ? null : draw.pick([null, null, 1_000, 5_000]);
  const jobs = allJobs(model);
  const origin = draw.below(4) === 3 && jobs.length > 0 ? draw.pick(jobs) : undefined;
  return {
    id,
    typeName,
    sequenceId: id,
    sequenceTypeName: typeName,
    sequenceIndex: 0,
    sequenceCreatedAt: null,
    rootSequenceId: origin?.rootSequenceId ?? id,
    originId: origin?.id ?? null,
    traceContext: draw.pick([null, `trace of ${id}`]),
    ...settings,
    expireAfterMs,
    awaitsBlockers: false,
    deduplication,
  };
};

/** The next job of a sequence. */
export const drawContinuation = (world: World, draw: Draw, jobId: string): NewJob => {
  const { model, createId } = world;
  const typeName = draw.pick(typeNames);
  const { sequenceId, sequenceTypeName, sequenceIndex, sequenceCreatedAt, rootSequenceId } =
    model.jobs.get(jobId)!;
  return {
    id: createId(),
    typeName,
    sequenceId,
    sequenceTypeName,
    sequenceIndex: sequenceIndex + 1,
    sequenceCreatedAt,
    rootSequenceId,
    originId: jobId,
    traceContext: `trace of ${jobId}`,
    ...drawSettings(world, draw, typeName),
    awaitsBlockers: false,
    deduplication: null,
  };
};

const assertCreated = ({ model, now }: World, job: NewJob, actual: CreatedStateJob | undefined): void => {
  assert.ok(actual);
  const duplicates = duplicatesOf(model, job, now);
  assert.equal(actual.deduplicated, duplicates.length > 0, `whether ${job.id} is a duplicate`);
  // Any of them may be the answer, unless the job is to take its place.
  const replaces = job.deduplication?.onDuplicate !== undefined;
  const named = replaces ? undefined : duplicates.find(({ id }) => id === actual.job.id);
  const expected = named ?? duplicates.at(-1);
  const replaced = expected !== undefined && replaceDuplicate(expected, job, now);
  assert.equal(actual.replaced ?? false, replaced, `whether ${job.id} takes the place of its duplicate`);
  assertSameJob(actual.job, expected ?? createJob(model, job, now));
};

export const create = async (
  world: World,
  jobs: readonly NewJob[],
  ctx: object | undefined,
): Promise<void> => {
  const { adapter, now } = world;
  world.note("createJobs", jobs);
  const created = await adapter.createJobs({ jobs, now, ctx });
  assert.equal(created.length, jobs.length);
  // One after the other: each sees those before it.
  for (const [index, job] of jobs.entries()) assertCreated(world, job, created[index]);
};

/** What stands in the way of these blockers; undefined when nothing does. */
const blockersRefused = ({ model }: World, sequenceId: string, blockers: readonly string[]) => {
  const known = sequenceIds(model);
  if (blockers.some((id) => !known.includes(id))) return JobNotFoundError;
  return blockers.some((id) => waitsFor(model, id, sequenceId)) ? BlockerCycleError : undefined;
};

export const tieToBlockers = async (
  world: World,
  draw: Draw,
  { id: jobId }: NewJob,
  ctx: object,
): Promise<void> => {
  const { adapter, model, now } = world;
  const choices = [...sequenceIds(model), ...(draw.below(8) === 7 ? [world.createId()] : [])];
  // The same sequence may be named twice: by deduplication two blockers can turn out to be one.
  const blockerSequenceIds = Array.from({ length: draw.below(3) + 1 }, () => draw.pick(choices));
  const job = model.jobs.get(jobId)!;
  const expected = blockersRefused(world, job.sequenceId, blockerSequenceIds);
  world.note("addJobBlockers", { jobId, blockerSequenceIds, refusedWith: expected?.name });
  const call = adapter.addJobBlockers({ jobId, blockerSequenceIds, now, ctx });
  if (expected !== undefined) {
    await assertRejects<Error>(call, expected);
    throw new ExpectedRejection();
  }
  addBlockers(model, job, blockerSequenceIds, now);
  assertSameJob(await call, job);
};

export const start: Action = async (world, draw, ctx) => {
  const jobs = Array.from({ length: draw.below(3) + 1 }, () => drawNewJob(world, draw));
  await create(world, jobs, ctx);
};

export const startBlocked: Action = async (world, draw, ctx) => {
  await inTransaction(
    world,
    async (inner) => {
      const job = { ...drawNewJob(world, draw), awaitsBlockers: true };
      await create(world, [job], inner);
      // A duplicate is left as it was.
      if (world.model.jobs.has(job.id)) await tieToBlockers(world, draw, job, inner);
    },
    ctx,
  );
};

/** The answer to a start was lost, and it is made again: it must not take effect twice. */
export const repeatReplacement: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const replaced = allJobs(model).filter(
    ({ id, replacedBy, deduplicationKey }) =>
      replacedBy !== null && replacedBy !== id && deduplicationKey !== null,
  );
  if (replaced.length === 0) return;
  const earlier = draw.pick(replaced);
  const job: NewJob = {
    ...drawNewJob(world, draw),
    id: earlier.replacedBy!,
    sequenceId: earlier.replacedBy!,
    typeName: earlier.typeName,
    sequenceTypeName: earlier.sequenceTypeName,
    deduplication: {
      key: earlier.deduplicationKey!,
      scope: "pending",
      windowMs: null,
      onDuplicate: "replace",
    },
  };
  world.note("createJobs again", job);
  const [answer] = await adapter.createJobs({ jobs: [job], now, ctx });
  assert.deepEqual([answer?.deduplicated, answer?.replaced], [true, true]);
  assertSameJob(answer?.job, earlier);
};

export const startExisting: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const existing = draw.some([...model.jobs.keys()], 2);
  if (existing.length === 0) return;
  const jobs = [
    { ...drawNewJob(world, draw), deduplication: null },
    ...existing.map((id) => ({ ...drawNewJob(world, draw), id, sequenceId: id, deduplication: null })),
  ];
  world.note("createJobs with ids that exist", existing);
  const { ids } = await assertRejects(adapter.createJobs({ jobs, now, ctx }), JobAlreadyExistsError);
  assert.deepEqual([...ids].sort(), [...existing].sort());
  if (ctx !== undefined) throw new ExpectedRejection();
};
