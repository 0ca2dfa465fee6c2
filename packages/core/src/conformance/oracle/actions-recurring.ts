import assert from "node:assert/strict";
import { requirePart } from "../../store/parts.ts";
import type { Recurring } from "../../store/contract/recurring.ts";
import {
  clockToleranceMs,
  type NewRecurringJob,
  type RecurringJobProgress,
  type StateRecurringJob,
} from "../../store/contract/recurring.ts";
import { start } from "./actions-start.ts";
import type { Draw } from "./draw.ts";
import type { ModelStore } from "./store.ts";
import { type Action, inTransaction, type World } from "./world.ts";

/** Few, so that they are put, moved on and deleted again and again. */
const ids = ["nightly", "hourly", "weekly"] as const;
const owners = [null, "shop", "bank"] as const;
const versionsOfZoneData = ["", "2024a", "2025b"] as const;

const recurringOf = ({ adapter }: World): Recurring<object> =>
  requirePart(adapter, "recurring", "The model of recurring jobs") as Recurring<object>;

/** In the transaction that there is, or in one of its own. */
const within = (world: World, ctx: object | undefined, work: (ctx: object) => Promise<void>) =>
  ctx === undefined ? inTransaction(world, work) : work(ctx);

const drawProgress = (draw: Draw, { model, now }: World): RecurringJobProgress => {
  const runsAt = draw.pick([now + 1_000, now, now + 2_500, now - 1_000, null]);
  return {
    nextNominalAt: runsAt === null ? null : runsAt - draw.below(2),
    runsAt,
    lastSequenceId: draw.pick([null, ...model.jobs.keys()]),
    tickHistory: `[${draw.below(100)}]`,
    timeZoneVersion: draw.pick(versionsOfZoneData),
    computedAt: draw.pick([now, now, now + 3_600_000]),
  };
};

export const putSome: Action = (world, draw, ctx) =>
  within(world, ctx, async (tx) => {
    const { model, now } = world;
    const recurring = recurringOf(world);
    const id = draw.pick(ids);
    const before = model.recurring.get(id);
    const job: NewRecurringJob = {
      id,
      owner: draw.pick(owners),
      paused: draw.below(3) === 2,
      version: (before?.version ?? 0) + 1,
      definition: `{"n":${draw.below(100)}}`,
      // To pause one, or to let it go on, is to put it again.
      ...(before !== undefined && draw.below(2) === 0 ? progressOf(before) : drawProgress(draw, world)),
    };
    world.note("putRecurring", job);
    assert.deepEqual(await recurring.lockRecurring({ ctx: tx, ids: [id], now }), [before], "what was locked");
    const stored = { ...job, createdAt: before?.createdAt ?? now, updatedAt: now };
    assert.deepEqual(await recurring.putRecurring({ ctx: tx, jobs: [job], now }), [stored], "what was put");
    model.recurring.set(id, stored);
  });

const progressOf = ({
  nextNominalAt,
  runsAt,
  lastSequenceId,
  tickHistory,
  timeZoneVersion,
  computedAt,
}: StateRecurringJob): RecurringJobProgress => ({
  nextNominalAt,
  runsAt,
  lastSequenceId,
  tickHistory,
  timeZoneVersion,
  computedAt,
});

export const deleteSomeRecurring: Action = async (world, draw, ctx) => {
  const { model, now } = world;
  const wanted = draw.some([...ids, "never"], 3);
  world.note("deleteRecurring", wanted);
  const deleted = await recurringOf(world).deleteRecurring({ ids: wanted, now, ctx });
  assert.deepEqual(
    deleted,
    wanted.filter((id) => model.recurring.delete(id)),
  );
};

const firesBefore = (a: StateRecurringJob, b: StateRecurringJob): number =>
  a.runsAt! - b.runsAt! || (a.id < b.id ? -1 : 1);

const dueRecurring = (model: ModelStore, now: number, timeZoneVersion: string | null): StateRecurringJob[] =>
  [...model.recurring.values()]
    .filter(({ paused, runsAt }) => !paused && runsAt !== null)
    .filter(
      (job) =>
        job.runsAt! <= now ||
        (timeZoneVersion !== null &&
          ((job.timeZoneVersion !== "" && job.timeZoneVersion < timeZoneVersion) ||
            job.computedAt > now + clockToleranceMs)),
    )
    .sort(firesBefore);

/** Locks what is due, starts something perhaps, and moves all of it on. */
export const tick: Action = (world, draw, ctx) =>
  within(world, ctx, async (tx) => {
    const { model, now } = world;
    const recurring = recurringOf(world);
    const limit = draw.pick([100, 1, 2]);
    const timeZoneVersion = draw.pick([null, ...versionsOfZoneData]);
    world.note("tick", { limit, timeZoneVersion });
    const expected = dueRecurring(model, now, timeZoneVersion).slice(0, limit);
    const locked = await recurring.lockDueRecurring({ ctx: tx, limit, timeZoneVersion, now });
    assert.deepEqual(locked, { now, jobs: expected }, "what is due");
    if (draw.below(2) === 1) await start(world, draw, tx);
    const moved = expected.map((job) => ({ id: job.id, ...drawProgress(draw, world) }));
    await recurring.advanceRecurring({ ctx: tx, jobs: moved, now });
    for (const { id, ...progress } of moved)
      model.recurring.set(id, { ...model.recurring.get(id)!, ...progress });
  });

const pageSize = 2;

/** Everything that can be read about recurring jobs must be what the model has. */
export const compareRecurring = async (world: World): Promise<void> => {
  const { model, now } = world;
  if (world.adapter.recurring === undefined) return;
  const recurring = recurringOf(world);
  const all = [...model.recurring.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const asked = [...ids, "never"];
  assert.deepEqual(
    await recurring.getRecurring({ ids: asked, now }),
    asked.map((id) => model.recurring.get(id)),
  );
  for (const owner of [undefined, "shop"]) {
    const found = all.filter((job) => owner === undefined || job.owner === owner);
    for (const after of [null, ids[1]]) {
      const page = await recurring.listRecurring({ limit: pageSize, after, owner, now });
      assert.deepEqual(page, found.filter(({ id }) => after === null || id > after).slice(0, pageSize));
    }
  }
  const [first] = all.filter(({ paused, runsAt }) => !paused && runsAt !== null).sort(firesBefore);
  const nextIn = first === undefined ? null : Math.max(0, first.runsAt! - now);
  assert.equal(await recurring.nextRecurringIn({ now }), nextIn, "when the next one is due");
};

export const removeRecurring = async ({ adapter, model, now }: World): Promise<void> => {
  if (model.recurring.size > 0)
    await adapter.recurring?.deleteRecurring({ ids: [...model.recurring.keys()], now });
};
