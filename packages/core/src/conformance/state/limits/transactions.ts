import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, outcomeOf } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type LimitsScenario, idsOf, times, withLimits } from "./limits-scenario.ts";

class Undo extends Error {}

const rollBack = async (
  { adapter }: LimitsScenario,
  work: (ctx: object) => Promise<void>,
  parent?: object,
): Promise<void> => {
  const run = adapter.runInTransaction(async (ctx: object) => {
    await work(ctx);
    throw new Undo();
  }, parent);
  await assert.rejects(run, Undo);
};

const claimIn = ({ adapter, queue }: LimitsScenario, ctx: object, limit = 100) =>
  adapter.claimJobs({
    workerId: "worker-1",
    leaseToken: randomUUID(),
    leaseMs: 30_000,
    requests: [{ queue, typeNames: null, limit }],
    limit,
    now: baseTime,
    ctx,
  });

export const describeLimitsTransactions = ({ test }: StateSuite): void => {
  test(
    "a claim that is rolled back gives back its slots, tokens and turns",
    withLimits(async (scenario) => {
      const { setQueueRule, setTypeRule, startGroup, claim, limits, queue, assertCounters } = scenario;
      await setQueueRule({ concurrency: 3, rate: { limit: 3, perMs: 1_000, burst: 3 } });
      await setTypeRule({ perGroup: { concurrency: 2, rate: { limit: 2, perMs: 60_000, burst: 2 } } });
      await startGroup("a", 4);
      await startGroup("b", 4);
      await rollBack(scenario, async (ctx) => {
        assert.equal((await claimIn(scenario, ctx)).length, 3);
        assert.equal((await claimIn(scenario, ctx)).length, 0);
      });
      const [use] = await limits.listRules({ queue, now: baseTime });
      assert.deepEqual([use?.running, use?.tokens], [0, 3]);
      assert.equal((await claim()).length, 3);
      await assertCounters();
    }),
  );

  test(
    "rules, stops and outcomes that are rolled back have not been",
    withLimits(async (scenario) => {
      const { adapter, limits, queue, typeName, startGroup, claim, end, hold, assertCounters } = scenario;
      await scenario.setQueueRule({ concurrency: 1 });
      const [first, second, third] = await startGroup("a", 3, { ordered: "stop" });
      const [running] = await claim();
      await rollBack(scenario, async (ctx) => {
        const change = { concurrency: 5, paused: true };
        await limits.setRule({ queue, typeName: null, change, now: baseTime, ctx });
        await adapter.commitOutcomes({ outcomes: [outcomeOf(running!, failure)], now: baseTime, ctx });
      });
      const [use] = await limits.listRules({ queue, now: baseTime });
      assert.deepEqual([use?.rule.concurrency, use?.rule.paused, use?.rule.version], [1, false, 1]);
      assert.deepEqual(await claim(), []);
      assert.equal((await hold(second!))?.by, "concurrency");
      await end(running!, completion);
      assert.deepEqual(idsOf(await claim()), [second!.id]);

      await end(await scenario.reload(second!), failure);
      await rollBack(scenario, async (ctx) => {
        assert.equal(await limits.resumeGroup({ queue, typeName, group: "a", now: baseTime, ctx }), true);
        assert.deepEqual(idsOf(await claimIn(scenario, ctx)), [third!.id]);
      });
      assert.equal((await hold(third!))?.by, "stopped");
      assert.deepEqual(await claim(), []);
      assert.equal((await scenario.reload(first!)).status, "completed");
      await assertCounters();
    }),
  );

  test(
    "an outcome in a transaction frees its slot when that commits",
    withLimits(async (scenario) => {
      const { adapter, setQueueRule, startMany, claim, assertCounters } = scenario;
      await setQueueRule({ concurrency: 1 });
      await startMany(times(3, () => ({})));
      const [running] = await claim();
      await adapter.runInTransaction(async (ctx: object) => {
        await adapter.commitOutcomes({ outcomes: [outcomeOf(running!, completion)], now: baseTime, ctx });
      });
      assert.equal((await claim()).length, 1);
      assert.equal((await claim()).length, 0);
      await assertCounters();
    }),
  );

  test(
    "a savepoint that is rolled back takes back its own part only",
    withLimits(async (scenario) => {
      const { adapter, setQueueRule, startMany, claim, limits, queue, assertCounters } = scenario;
      if (!adapter.capabilities.savepoints) return;
      await setQueueRule({ concurrency: 4, rate: { limit: 9, perMs: 1_000, burst: 9 } });
      await startMany(times(9, () => ({})));
      await adapter.runInTransaction(async (ctx: object) => {
        assert.equal((await claimIn(scenario, ctx, 1)).length, 1);
        await rollBack(
          scenario,
          async (inner) => {
            assert.equal((await claimIn(scenario, inner)).length, 3);
          },
          ctx,
        );
        assert.equal((await claimIn(scenario, ctx, 1)).length, 1);
      });
      const [use] = await limits.listRules({ queue, now: baseTime });
      assert.deepEqual([use?.running, use?.tokens], [2, 7]);
      assert.equal((await claim()).length, 2);
      await assertCounters();
    }),
  );

  test(
    "a savepoint that was released is rolled back with its transaction",
    withLimits(async (scenario) => {
      const { adapter, limits, queue, typeName, setQueueRule, startGroup, claim, end, hold } = scenario;
      await setQueueRule({ rate: { limit: 5, perMs: 60_000, burst: 5 } });
      const [, second] = await startGroup("a", 2, { ordered: "stop" });
      const [first] = await claim();
      await end(first!, failure);
      await rollBack(scenario, async (ctx) => {
        await limits.resumeGroup({ queue, typeName, group: "a", now: baseTime, ctx });
        await adapter.runInTransaction(async (inner: object) => {
          assert.equal((await claimIn(scenario, inner)).length, 1);
        }, ctx);
      });
      const [use] = await limits.listRules({ queue, now: baseTime });
      assert.equal(use?.tokens, 4);
      assert.equal((await hold(second!))?.by, "stopped");
    }),
  );

  test(
    "a first group and a first rule that are rolled back hide no later ones",
    withLimits(async (scenario) => {
      const { adapter, limits, queue, typeName, newJob, startGroup, claim, claimIds } = scenario;
      await rollBack(scenario, async (ctx) => {
        await adapter.createJobs({ jobs: [newJob({ group: "a" })], now: baseTime, ctx });
        await limits.setRule({ queue, typeName, change: { paused: true }, now: baseTime, ctx });
        assert.deepEqual(await claimIn(scenario, ctx), []);
      });
      const [job] = await startGroup("b", 1);
      assert.equal(await scenario.nextRunnableIn(), 0);
      await scenario.setTypeRule({ paused: true });
      assert.deepEqual(await claim(), []);
      await scenario.setTypeRule({ paused: false });
      assert.deepEqual(await claimIds(), [job!.id]);
    }),
  );

  test(
    "jobs started in a transaction are in their line once it commits",
    withLimits(async (scenario) => {
      const { adapter, newJob, claim, startGroup } = scenario;
      const [first] = await startGroup("a", 1);
      await scenario.completeAll(await claim());
      const job = newJob({ group: "a" });
      await rollBack(scenario, async (ctx) => {
        await adapter.createJobs({ jobs: [newJob({ group: "a" })], now: baseTime, ctx });
      });
      await adapter.runInTransaction(async (ctx: object) => {
        await adapter.createJobs({ jobs: [job], now: baseTime, ctx });
      });
      assert.notEqual(first?.id, job.id);
      assert.deepEqual(idsOf(await claim()), [job.id]);
    }),
  );
};
