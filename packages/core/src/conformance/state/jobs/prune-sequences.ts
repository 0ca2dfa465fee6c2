import assert from "node:assert/strict";
import type { PruneResult, PruneRule } from "../../../store/contract/creation.ts";
import { type JobReference, referenceTo, type StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

interface Choice {
  readonly statuses?: readonly ("completed" | "failed")[];
  readonly finishedBefore?: number;
  readonly limit?: number;
}

/** One pass; how many jobs each of its calls removed. */
const prunePass = async (
  { adapter }: StateScenario,
  rules: readonly PruneRule[],
  limit: number,
): Promise<number[]> => {
  const counts: number[] = [];
  let after: string | null = null;
  do {
    const result: PruneResult | null = await adapter.pruneSequences({
      rules,
      limit,
      after,
      now: baseTime + 5_000,
    });
    assert.ok(result);
    counts.push(result.deletedJobs);
    after = result.next;
    assert.ok(counts.length < 1_000, "a pass comes to its end");
  } while (after !== null);
  return counts;
};

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const prune = async (
  scenario: StateScenario,
  { statuses = ["completed", "failed"], finishedBefore = baseTime + 1_000, limit = 100 }: Choice = {},
): Promise<number> => {
  const before = (status: "completed" | "failed"): number | null =>
    statuses.includes(status) ? finishedBefore : null;
  const rule = {
    sequenceTypeNames: null,
    completedBefore: before("completed"),
    failedBefore: before("failed"),
  };
  return sum(await prunePass(scenario, [rule], limit));
};

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
    const rule = { sequenceTypeNames: null, completedBefore: baseTime + 1_000, failedBefore: null };
    const counts = await prunePass(scenario, [rule], 3);
    assert.ok(Math.max(...counts) <= 3);
    assert.equal(sum(counts), 7);
    assert.deepEqual(await remaining(scenario), idsOf(...kept));
  });

  test("one call takes no more trees than asked for", async (scenario) => {
    const jobs = await scenario.startMany(Array.from({ length: 5 }, () => ({})));
    for (const job of jobs) await scenario.endWorkerless(job, completion);
    const rules = [{ sequenceTypeNames: null, completedBefore: baseTime + 1_000, failedBefore: null }];
    const call = { rules, limit: 2, now: baseTime + 5_000 };
    const first = await scenario.adapter.pruneSequences({ ...call, after: null });
    assert.equal(first?.deletedJobs, 2);
    assert.equal((await remaining(scenario)).length, 3);
    assert.equal((await scenario.adapter.pruneSequences({ ...call, after: first.next }))?.deletedJobs, 2);
  });

  test("tells which of the jobs it removed had failed", async (scenario) => {
    const root = await scenario.start({ typeName: `${scenario.typeName}-2` });
    const child = await scenario.start({ rootSequenceId: root.id, originId: root.id });
    const [completed, failed, young] = await scenario.startMany([{}, {}, {}]);
    assert.ok(completed && failed && young);
    for (const job of [root, completed]) await scenario.endWorkerless(job, completion);
    for (const job of [child, failed]) await scenario.endWorkerless(job, failure);
    await scenario.endWorkerless(young, failure, baseTime + 2_000);
    const rules = [
      { sequenceTypeNames: null, completedBefore: baseTime + 1_000, failedBefore: baseTime + 1_000 },
    ];
    const call = { rules, limit: 100, after: null, now: baseTime + 5_000 };
    const result = await scenario.adapter.pruneSequences(call);
    assert.equal(result?.deletedJobs, 4);
    const byId = (a: JobReference, b: JobReference): number => (a.id < b.id ? -1 : 1);
    assert.deepEqual(
      [...result.failedJobs].sort(byId),
      [child, failed].map((job) => referenceTo(job)).sort(byId),
    );
  });

  test("a rule is for the types of root sequences it names, another for all the rest", async (scenario) => {
    const { typeName } = scenario;
    const start = (type: string): Promise<StateJob> =>
      scenario.start({ typeName: type, sequenceTypeName: type });
    const [short, long, other] = [
      await start(`${typeName}-a`),
      await start(`${typeName}-b`),
      await start("c"),
    ];
    // In a tree the root decides, whatever the types of the sequences below it.
    const below = await scenario.start({
      typeName: `${typeName}-a`,
      sequenceTypeName: `${typeName}-a`,
      rootSequenceId: long.id,
    });
    for (const job of [short, long, other, below]) await scenario.endWorkerless(job, completion);
    const named = (type: string, completedBefore: number | null): PruneRule => ({
      sequenceTypeNames: [`${typeName}-${type}`],
      completedBefore,
      failedBefore: null,
    });
    await prunePass(scenario, [named("a", baseTime + 1_000), named("b", null)], 100);
    assert.deepEqual(await remaining(scenario), idsOf(long, other, below));
    const rest = { sequenceTypeNames: null, completedBefore: baseTime + 1_000, failedBefore: null };
    await prunePass(scenario, [named("b", null), rest], 100);
    assert.deepEqual(await remaining(scenario), idsOf(long, below));
    await prunePass(scenario, [named("b", baseTime + 1_000)], 100);
    assert.deepEqual(await remaining(scenario), []);
  });

  test("completed and failed sequences have a moment each", async (scenario) => {
    const [completed, failed] = await scenario.startMany([{}, {}]);
    assert.ok(completed && failed);
    await scenario.endWorkerless(completed, completion, baseTime + 500);
    await scenario.endWorkerless(failed, failure, baseTime + 500);
    const rule = { sequenceTypeNames: null, completedBefore: baseTime + 501, failedBefore: baseTime + 500 };
    await prunePass(scenario, [rule], 100);
    assert.deepEqual(await remaining(scenario), idsOf(failed));
  });

  test("trees that wait for each other in a row go, and those in a circle stay", async (scenario) => {
    const first = await scenario.start();
    const second = await scenario.startBlocked([first]);
    const third = await scenario.startBlocked([second]);
    for (const job of [first, second, third]) await scenario.endWorkerless(job, completion);
    for (let pass = 0; pass < 3; pass += 1) await prune(scenario);
    assert.deepEqual(await remaining(scenario), []);

    const [left, right] = await scenario.startMany([{}, {}]);
    assert.ok(left && right);
    const circle = [
      left,
      right,
      await scenario.startBlocked([right], { rootSequenceId: left.id }),
      await scenario.startBlocked([left], { rootSequenceId: right.id }),
    ];
    for (const job of circle) await scenario.endWorkerless(job, completion);
    for (let pass = 0; pass < 3; pass += 1) await prune(scenario);
    assert.deepEqual(await remaining(scenario), idsOf(...circle));
  });
};
