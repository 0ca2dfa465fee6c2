import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const remove = (
  { adapter }: StateScenario,
  ...rootSequenceIds: readonly string[]
): ReturnType<StateScenario["adapter"]["deleteSequences"]> =>
  adapter.deleteSequences({ rootSequenceIds, now: baseTime });

const areStored = async ({ adapter }: StateScenario, jobs: readonly StateJob[]): Promise<boolean[]> => {
  const found = await adapter.getJobs({ jobIds: jobs.map(({ id }) => id) });
  return found.map((job) => job !== undefined);
};

/** A root with a continuation that waits for a sequence of the same tree. */
const startTree = async (scenario: StateScenario): Promise<[StateJob, StateJob, StateJob]> => {
  const root = await scenario.run(await scenario.start({ typeName: `${scenario.typeName}-${randomUUID()}` }));
  const below = { rootSequenceId: root.id, originId: root.id };
  const child = await scenario.start(below);
  const continuation = await scenario.continueSequence(root, { awaitsBlockers: true });
  await scenario.adapter.runInTransaction((ctx) =>
    scenario.adapter.addJobBlockers({
      jobId: continuation.id,
      blockerSequenceIds: [child.id],
      ctx,
      now: baseTime,
    }),
  );
  return [root, continuation, child];
};

export const describeDeleteSequences = ({ test }: StateSuite): void => {
  test("removes a whole tree, says what went, and leaves the next tree alone", async (scenario) => {
    const [root, continuation, child] = await startTree(scenario);
    const other = await startTree(scenario);
    const result = await remove(scenario, root.id);
    assert.deepEqual([result.notRoots, result.dependantRootSequenceIds], [[], []]);
    assert.deepEqual(
      new Map(result.deleted.map(({ id, status }) => [id, status])),
      new Map([
        [root.id, "completed"],
        [continuation.id, "blocked"],
        [child.id, "pending"],
      ]),
    );
    const { id, typeName, queue, sequenceId, sequenceTypeName, rootSequenceId } = child;
    assert.deepEqual(
      result.deleted.find((job) => job.id === child.id),
      { id, typeName, queue, sequenceId, sequenceTypeName, rootSequenceId, status: "pending" },
    );
    assert.deepEqual(await areStored(scenario, [root, continuation, child]), [false, false, false]);
    assert.deepEqual(await areStored(scenario, other), [true, true, true]);
    assert.deepEqual(await scenario.adapter.getSequences({ sequenceIds: [root.id] }), [undefined]);
  });

  test("removes a running job, which nobody can then claim or finish", async (scenario) => {
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    await remove(scenario, running.id);
    assert.deepEqual(await scenario.claim({ now: baseTime + 10_000 }), []);
    const result = await scenario.end(running, completion);
    assert.deepEqual(result.kind === "refused" ? result.reason : result.kind, "not_found");
  });

  test("ignores ids that do not exist, and one that is named twice", async (scenario) => {
    const job = await scenario.start();
    const result = await remove(scenario, randomUUID(), job.id, job.id);
    assert.deepEqual(
      result.deleted.map(({ id }) => id),
      [job.id],
    );
    assert.deepEqual(await remove(scenario, job.id), {
      deleted: [],
      notRoots: [],
      dependantRootSequenceIds: [],
    });
  });

  test("removes nothing when an id is no root", async (scenario) => {
    const [root, continuation, child] = await startTree(scenario);
    const other = await scenario.start();
    const result = await remove(scenario, other.id, child.id, continuation.id);
    assert.deepEqual(result.deleted, []);
    assert.deepEqual([...result.notRoots].sort(), [child.id, continuation.id].sort());
    assert.deepEqual(await areStored(scenario, [root, continuation, child, other]), [true, true, true, true]);
  });

  test("removes nothing that another tree waits for, unless that one goes too", async (scenario) => {
    const [root, , child] = await startTree(scenario);
    const dependant = await scenario.startBlocked([child]);
    const other = await scenario.start();
    assert.deepEqual(await remove(scenario, root.id, other.id), {
      deleted: [],
      notRoots: [],
      dependantRootSequenceIds: [dependant.id],
    });
    assert.deepEqual(await areStored(scenario, [root, child, dependant, other]), [true, true, true, true]);
    assert.equal((await remove(scenario, root.id, dependant.id)).deleted.length, 4);
  });

  test("a dependant that is over still names its blockers, so it counts too", async (scenario) => {
    const blocker = await scenario.start();
    const dependant = await scenario.startBlocked([blocker]);
    await scenario.endWorkerless(blocker, completion);
    await scenario.endWorkerless(dependant, completion);
    assert.deepEqual((await remove(scenario, blocker.id)).dependantRootSequenceIds, [dependant.id]);
    assert.equal((await remove(scenario, dependant.id)).deleted.length, 1);
    assert.equal((await remove(scenario, blocker.id)).deleted.length, 1);
  });

  test("a deleted dependant is forgotten by its blocker", async (scenario) => {
    const blocker = await scenario.start();
    const dependant = await scenario.startBlocked([blocker]);
    await remove(scenario, dependant.id);
    const result = await scenario.endWorkerless(blocker, completion);
    assert.deepEqual(result.kind === "applied" && result.unblocked, []);
    const page = await scenario.adapter.listBlockedJobs({ sequenceId: blocker.id, limit: 10, after: null });
    assert.deepEqual(page.jobs, []);
  });

  test("an id is free again once its job is deleted", async (scenario) => {
    const job = await scenario.start();
    await remove(scenario, job.id);
    assert.equal((await scenario.start({ id: job.id, input: "again" })).input, "again");
  });
};
