import assert from "node:assert/strict";
import type { StateJob } from "../../model/job.ts";
import { baseTime } from "../state-fixture.ts";
import { completion, failure } from "../state-scenario.ts";
import type { StateScenario } from "../state-scenario.ts";
import type { StateSuite } from "../state-suite.ts";

const prune = (
  { adapter }: StateScenario,
  {
    statuses = ["completed", "failed"],
    ...options
  }: {
    statuses?: readonly ("completed" | "failed")[];
    finishedBefore?: number;
    limit?: number;
  } = {},
): Promise<number> =>
  adapter.pruneSequences({
    finishedBefore: baseTime + 1_000,
    limit: 100,
    now: baseTime + 5_000,
    statuses,
    ...options,
  });

const remaining = async ({ adapter, queue }: StateScenario): Promise<string[]> => {
  const filter = { queues: [queue] };
  const { jobs } = await adapter.listJobs({ filter, order: "oldest", limit: 1_000, after: null });
  return jobs.map(({ id }) => id).sort();
};

const idsOf = (...jobs: readonly StateJob[]): string[] => jobs.map(({ id }) => id).sort();

export const describePruneSequences = ({ testAlone: test }: StateSuite): void => {
  test("removes what finished before the given moment, and not at it", async (scenario) => {
    const [old, young] = await scenario.startMany([{}, {}]);
    assert.ok(old && young);
    await scenario.endWorkerless(old, completion, baseTime + 999);
    await scenario.endWorkerless(young, completion, baseTime + 1_000);
    assert.equal(await prune(scenario), 1);
    assert.deepEqual(await remaining(scenario), idsOf(young));
    assert.equal(await prune(scenario), 0);
  });

  test("removes only the statuses asked for", async (scenario) => {
    const [completed, failed] = await scenario.startMany([{}, {}]);
    assert.ok(completed && failed);
    await scenario.endWorkerless(completed, completion);
    await scenario.endWorkerless(failed, failure);
    assert.equal(await prune(scenario, { statuses: [] }), 0);
    assert.equal(await prune(scenario, { statuses: ["completed"] }), 1);
    assert.deepEqual(await remaining(scenario), idsOf(failed));
    assert.equal(await prune(scenario, { statuses: ["failed"] }), 1);
  });

  test("leaves alone what is not finished", async (scenario) => {
    const running = await scenario.run(await scenario.start());
    const pending = await scenario.start();
    const blocked = await scenario.startBlocked([pending]);
    const continuation = await scenario.continueSequence(
      await scenario.run(await scenario.start({ priority: 1 })),
    );
    assert.equal(await prune(scenario, { finishedBefore: baseTime + 1_000_000 }), 0);
    assert.equal((await remaining(scenario)).length, 5);
    assert.deepEqual(
      (await scenario.reloadAll([running, pending, blocked, continuation])).map(({ status }) => status),
      ["running", "pending", "blocked", "pending"],
    );
  });

  test("removes a tree only when every sequence in it has finished", async (scenario) => {
    const root = await scenario.start();
    const child = await scenario.start({ rootSequenceId: root.id, originId: root.id });
    await scenario.endWorkerless(root, completion);
    assert.equal(await prune(scenario), 0);
    await scenario.endWorkerless(child, failure);
    assert.equal(await prune(scenario, { statuses: ["completed"] }), 0);
    assert.equal(await prune(scenario), 2);
  });

  test("a sequence finished when its last job did, whatever became of the earlier ones", async (scenario) => {
    const first = await scenario.run(await scenario.start());
    const continuation = await scenario.continueSequence(first);
    await scenario.endWorkerless(continuation, failure, baseTime + 2_000);
    assert.equal(await prune(scenario), 0);
    assert.equal(await prune(scenario, { finishedBefore: baseTime + 2_001, statuses: ["failed"] }), 2);
  });

  test("keeps what a tree outside depends on, until that has gone", async (scenario) => {
    const blocker = await scenario.start();
    const dependant = await scenario.startBlocked([blocker]);
    await scenario.endWorkerless(blocker, completion);
    assert.equal(await prune(scenario), 0);
    await scenario.endWorkerless(dependant, completion);
    while ((await prune(scenario)) > 0);
    assert.deepEqual(await remaining(scenario), []);
  });

  test("takes up to so many trees and gets through all, past those that must stay", async (scenario) => {
    const kept = await scenario.startMany(Array.from({ length: 20 }, () => ({})));
    const finished = await scenario.startMany(Array.from({ length: 7 }, () => ({})));
    for (const job of finished) await scenario.endWorkerless(job, completion);
    const counts: number[] = [];
    do counts.push(await prune(scenario, { limit: 3 }));
    while (counts.at(-1) !== 0);
    assert.deepEqual(counts, [3, 3, 1, 0]);
    assert.deepEqual(await remaining(scenario), idsOf(...kept));
  });
};
