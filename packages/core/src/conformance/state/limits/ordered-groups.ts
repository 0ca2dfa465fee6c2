import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, release, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type LimitsScenario, idsOf, withLimits } from "./limits-scenario.ts";

const ordered = { ordered: "continue" } as const;

/** The one job that a claim takes now. */
const claimOne = async ({ claim }: LimitsScenario, now: number = baseTime) => {
  const jobs = await claim({ now });
  assert.equal(jobs.length, 1);
  return jobs[0]!;
};

export const describeOrderedGroups = ({ test }: StateSuite): void => {
  test(
    "the jobs of an ordered group run one at a time, in order",
    withLimits(async (scenario) => {
      const { startGroup, end, claimIds, assertCounters } = scenario;
      const jobs = await startGroup("a", 4, ordered);
      for (const job of jobs) {
        const running = await claimOne(scenario);
        assert.equal(running.id, job.id);
        assert.ok(running.limited);
        assert.deepEqual(await claimIds(), []);
        await end(running, completion);
      }
      await assertCounters();
    }),
  );

  test(
    "groups do not wait for each other",
    withLimits(async ({ startGroup, claim }) => {
      for (const group of ["a", "b", "c"]) await startGroup(group, 3, ordered);
      assert.deepEqual((await claim()).map(({ group }) => group ?? "none").sort(), ["a", "b", "c"]);
    }),
  );

  test(
    "priority decides who goes first among those that have not begun",
    withLimits(async (scenario) => {
      const [low] = await scenario.startGroup("a", 1, ordered);
      const [high] = await scenario.startGroup("a", 1, { ...ordered, priority: 5 });
      const first = await claimOne(scenario);
      assert.equal(first.id, high?.id);
      await scenario.end(first, completion);
      assert.equal((await claimOne(scenario)).id, low?.id);
    }),
  );

  test(
    "a retry keeps the head of its group: the others wait until it is due",
    withLimits(async (scenario) => {
      const { startGroup, claimIds, end, nextRunnableIn, hold } = scenario;
      const [first, second] = await startGroup("a", 3, ordered);
      await startGroup("a", 1, { ...ordered, priority: 9 }, baseTime + 1);
      const running = await claimOne(scenario);
      assert.equal(running.id, first?.id);
      await end(running, retryAfter(5_000));
      assert.deepEqual(await claimIds({ now: baseTime + 4_999 }), []);
      assert.equal(await nextRunnableIn(baseTime + 1_000), 4_000);
      const held = await hold(second!, baseTime + 1_000);
      assert.deepEqual(
        { by: held?.by, claimableAt: held?.claimableAt, first: held?.jobIds[0] },
        { by: "order", claimableAt: baseTime + 5_000, first: running.id },
      );
      assert.equal((await claimOne(scenario, baseTime + 5_000)).id, running.id);
    }),
  );

  test(
    "so does a job that is given back, and one whose lease ends",
    withLimits(async (scenario) => {
      const { adapter, startGroup, end, claimIds } = scenario;
      await startGroup("a", 2, ordered);
      await startGroup("a", 1, { ...ordered, priority: 9 }, baseTime + 1);
      const first = await claimOne(scenario);
      await end(first, release);
      const again = await claimOne(scenario, baseTime + 1);
      assert.equal(again.id, first.id);
      const lost = baseTime + 60_000;
      assert.deepEqual(await claimIds({ now: lost - 30_000 }), []);
      await adapter.reapExpiredLeases({ limit: 1_000, error: "lost", now: lost });
      assert.equal((await claimOne(scenario, lost)).id, first.id);
    }),
  );

  test(
    "a claim finds the expired lease of an ordered group first",
    withLimits(async (scenario) => {
      const { startGroup, claim } = scenario;
      const [first] = await startGroup("a", 3, ordered);
      await claim({ leaseMs: 1_000 });
      assert.equal((await claimOne(scenario, baseTime + 1_000)).id, first?.id);
    }),
  );

  test(
    "a job for later holds up nobody, and comes in when it is due",
    withLimits(async (scenario) => {
      const { startGroup, start, end } = scenario;
      const later = await start({ group: "a", ...ordered, schedule: { afterMs: 5_000 } });
      const [now] = await startGroup("a", 1, ordered);
      const running = await claimOne(scenario);
      assert.equal(running.id, now?.id);
      await end(running, completion);
      assert.equal((await claimOne(scenario, baseTime + 5_000)).id, later.id);
    }),
  );

  test(
    "after a failure the next goes on",
    withLimits(async (scenario) => {
      const [, second] = await scenario.startGroup("a", 2, ordered);
      await scenario.end(await claimOne(scenario), failure);
      assert.equal((await claimOne(scenario)).id, second?.id);
    }),
  );

  test(
    "so it does after cancelling, deleting and workerless completion of the one that runs",
    withLimits(async (scenario) => {
      const { adapter, startGroup, cancel, endWorkerless, assertCounters } = scenario;
      const jobs = await startGroup("a", 4, ordered);
      await cancel(await claimOne(scenario));
      const second = await claimOne(scenario);
      await adapter.deleteSequences({ rootSequenceIds: [second.id], now: baseTime });
      await endWorkerless(await claimOne(scenario), completion);
      assert.equal((await claimOne(scenario)).id, jobs[3]?.id);
      await assertCounters();
    }),
  );

  test(
    "cancelling the job that waits for its retry lets the next go",
    withLimits(async (scenario) => {
      const [, second] = await scenario.startGroup("a", 2, ordered);
      const first = await claimOne(scenario);
      await scenario.end(first, retryAfter(60_000));
      await scenario.cancel(first);
      assert.equal((await claimOne(scenario)).id, second?.id);
    }),
  );

  test(
    "a redriven job returns to the head of its group",
    withLimits(async (scenario) => {
      const { adapter, startGroup, end, claimIds } = scenario;
      const [first, second, third] = await startGroup("a", 3, ordered);
      await end(await claimOne(scenario), failure);
      const running = await claimOne(scenario);
      assert.equal(running.id, second?.id);
      await adapter.redriveJobs({ jobIds: [first!.id], now: baseTime + 1 });
      assert.deepEqual(await claimIds({ now: baseTime + 1 }), []);
      await end(running, completion, baseTime + 1);
      const redriven = await claimOne(scenario, baseTime + 1);
      assert.equal(redriven.id, first?.id);
      await end(redriven, completion, baseTime + 1);
      assert.equal((await claimOne(scenario, baseTime + 1)).id, third?.id);
    }),
  );

  test(
    "a continuation joins its group like any other job",
    withLimits(async (scenario) => {
      const { startGroup, continueSequence } = scenario;
      const [, second] = await startGroup("a", 2, ordered);
      const first = await claimOne(scenario);
      const next = await continueSequence(first, { group: "a", ...ordered });
      const running = await claimOne(scenario);
      assert.equal(running.id, second?.id);
      await scenario.end(running, completion);
      assert.equal((await claimOne(scenario)).id, next.id);
    }),
  );

  test(
    "blocked jobs are in no line until they are unblocked",
    withLimits(async (scenario) => {
      const { start, startBlocked, startGroup, endWorkerless, end, claimIds, queue } = scenario;
      const blocker = await start({ queue: `${queue}-elsewhere` });
      const blocked = await startBlocked([blocker], { group: "a", ...ordered });
      const [free] = await startGroup("a", 1, ordered, baseTime + 1);
      const running = await claimOne(scenario, baseTime + 1);
      assert.equal(running.id, free?.id);
      await endWorkerless(blocker, completion, baseTime + 2);
      assert.deepEqual(await claimIds({ now: baseTime + 2 }), []);
      await end(running, completion, baseTime + 2);
      assert.equal((await claimOne(scenario, baseTime + 2)).id, blocked.id);
    }),
  );

  test(
    "countAhead of a job counts those of its group that go before it",
    withLimits(async (scenario) => {
      const { adapter, startGroup, startMany } = scenario;
      await startMany([{ priority: 9 }, { group: "b", priority: 9 }]);
      const jobs = await startGroup("a", 3, ordered);
      for (const [place, { id }] of jobs.entries())
        assert.equal(await adapter.countAhead({ jobId: id, cap: 100, now: baseTime }), place);
      assert.equal(await adapter.countAhead({ jobId: jobs[2]!.id, cap: 1, now: baseTime }), 1);
      const [first] = await scenario
        .claim({ limit: 100 })
        .then((all) => all.filter(({ group }) => group === "a"));
      await scenario.end(first!, retryAfter(9_000));
      const ahead = await adapter.countAhead({ jobId: jobs[1]!.id, cap: 100, now: baseTime });
      assert.equal(ahead, 1, "the one that waits for its retry goes first");
      assert.deepEqual(idsOf([first!]), [jobs[0]!.id]);
    }),
  );
};
