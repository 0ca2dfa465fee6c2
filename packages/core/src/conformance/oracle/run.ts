import assert from "node:assert/strict";
import type { AnyStateAdapter } from "../../store/contract/state-adapter.ts";
import { baseTime } from "../state-fixture.ts";
import { changeRule, pauseSome, readRules, resetRules, resumeSome } from "./actions-limits.ts";
import { cancelSome, deleteSome, prune, redriveSome } from "./actions-interventions.ts";
import { claimAgain, claimSome, reapSome, renew } from "./actions-leases.ts";
import { commitSome, commitWorkerless, completeSequence, lockAndEnd } from "./actions-outcomes.ts";
import { list, lookBack } from "./actions-reads.ts";
import { deleteSomeRecurring, putSome, removeRecurring, tick } from "./actions-recurring.ts";
import { repeatReplacement, start, startBlocked, startExisting } from "./actions-start.ts";
import { expireSome, updateSome } from "./actions-waiting.ts";
import { createDraw } from "./draw.ts";
import { allJobs } from "./store.ts";
import { compareVisibleState } from "./visible-state.ts";
import { type Action, createWorld, ExpectedRejection, inTransaction, type World } from "./world.ts";

const passTime: Action = async (world, draw) => {
  const ms = draw.pick([1_000, 2_000, 3_000, 20_000]);
  world.note("time passes:", ms);
  world.now += ms;
};

// What makes a run interesting stands here several times.
const actions: readonly Action[] = [
  start,
  claimSome,
  commitSome,
  startBlocked,
  lockAndEnd,
  passTime,
  claimSome,
  commitSome,
  completeSequence,
  startBlocked,
  passTime,
  start,
  commitWorkerless,
  renew,
  claimAgain,
  reapSome,
  cancelSome,
  redriveSome,
  redriveSome,
  deleteSome,
  prune,
  startExisting,
  list,
];

/** Few kinds of actions, so that jobs are claimed again and again under changing rules. */
const ruleActions: readonly Action[] = [
  start,
  claimSome,
  changeRule,
  commitSome,
  passTime,
  claimSome,
  start,
  claimSome,
  commitSome,
  passTime,
  changeRule,
  start,
  claimAgain,
  commitWorkerless,
  lockAndEnd,
  renew,
  reapSome,
  cancelSome,
  redriveSome,
  deleteSome,
  prune,
  startBlocked,
  resumeSome,
  pauseSome,
  updateSome,
  expireSome,
];

const editActions: readonly Action[] = [updateSome, updateSome, expireSome, repeatReplacement];

const recurringActions: readonly Action[] = [putSome, tick, putSome, tick, deleteSomeRecurring];

const actionsOf = ({ adapter, about }: World): readonly Action[] => [
  ...(about === "limits" ? ruleActions : actions),
  ...(about === "jobs" && adapter.edits !== undefined ? editActions : []),
  ...(about === "jobs" && adapter.recurring !== undefined ? recurringActions : []),
  ...(adapter.history === undefined ? [] : [lookBack]),
];

/** Some actions as one: committed or rolled back together, or with a savepoint that is rolled back alone. */
const transaction: Action = async (world, draw, parent) => {
  const savepoints = world.adapter.capabilities.savepoints && parent === undefined;
  await inTransaction(
    world,
    async (ctx) => {
      world.note(parent === undefined ? "begin" : "begin savepoint");
      for (let count = draw.below(3) + 1; count > 0; count -= 1) {
        const inner = savepoints && draw.below(4) === 3 ? transaction : draw.pick(actionsOf(world));
        await inner(world, draw, ctx);
      }
      const rolledBack = draw.below(3) === 2;
      world.note(rolledBack ? "roll back" : "commit");
      if (rolledBack) throw new ExpectedRejection();
    },
    parent,
  );
};

/** Leaves the store as empty as it was, so that the next run can have it. */
const removeAll = async ({ adapter, model, now }: World): Promise<void> => {
  const rootSequenceIds = allJobs(model)
    .filter(({ id, rootSequenceId }) => id === rootSequenceId)
    .map(({ id }) => id);
  const { deleted } = await adapter.deleteSequences({ rootSequenceIds, now });
  assert.equal(deleted.length, model.jobs.size, "everything can be deleted together");
  assert.deepEqual(await adapter.countJobs({ filter: {}, now }), []);
};

/** One run from an empty store. Each step is a list of numbers from which everything about it is drawn. */
export const runAgainstModel = async (
  adapter: AnyStateAdapter,
  about: World["about"],
  steps: readonly (readonly number[])[],
): Promise<void> => {
  const world = createWorld(adapter, about, baseTime);
  const everything = [...actionsOf(world), transaction, transaction, transaction];
  try {
    if (about === "limits") await readRules(world);
    for (const numbers of steps) {
      const draw = createDraw(numbers);
      await draw.pick(everything)(world, draw);
    }
    world.note("compare everything");
    await compareVisibleState(world);
    await removeAll(world);
    await removeRecurring(world);
    if (about === "limits") await resetRules(world);
  } catch (error) {
    const story = world.log.map((line, index) => `${index + 1}. ${line}`).join("\n");
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`Adapter and model part after the last of these steps:\n${story}\n\n${message}`, {
      cause: error,
    });
  }
};
