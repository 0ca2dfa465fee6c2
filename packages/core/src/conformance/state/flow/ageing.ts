import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { baseTime } from "../../state-fixture.ts";
import { completion } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type FlowScenario, idsOf, withFlow } from "../limits/limits-scenario.ts";

/** Three jobs: the first of low priority, one of the next higher priority soon after, and one when its time has passed. */
const startThree = async ({ start, typeName: own }: FlowScenario, group: string | null, typeName = own) => {
  const old = await start({ group, typeName, priority: 0 });
  const soon = await start({ group, typeName, priority: 1 }, baseTime + 500);
  const late = await start({ group, typeName, priority: 1 }, baseTime + 1_500);
  return { old, soon, late };
};

export const describeAgeing = ({ test }: StateSuite): void => {
  for (const group of [null, "a"]) {
    test(
      `waiting is worth priority, ${group === null ? "without a group" : "in a group"}`,
      withFlow(async (scenario) => {
        await scenario.setTypeRule({ agePriorityMs: 1_000 });
        const { old, soon, late } = await startThree(scenario, group);
        const now = baseTime + 2_000;
        for (const job of [soon, old, late]) {
          const [claimed] = await scenario.claim({ now, limit: 1 });
          assert.equal(claimed?.id, job.id);
          assert.equal(claimed?.priority, job.priority);
        }
      }),
    );
  }

  test(
    "the rule of a queue ages the jobs of its types",
    withFlow(async (scenario) => {
      await scenario.setQueueRule({ agePriorityMs: 1_000 });
      const { old, soon, late } = await startThree(scenario, null);
      const claimed = await scenario.claimIds({ now: baseTime + 2_000 });
      assert.deepEqual(claimed, [soon.id, old.id, late.id]);
    }),
  );

  test(
    "without ageing the higher priority goes first, however late",
    withFlow(async (scenario) => {
      await scenario.setTypeRule({ concurrency: 1_000 });
      const { old, soon, late } = await startThree(scenario, null);
      const claimed = await scenario.claimIds({ now: baseTime + 2_000 });
      assert.deepEqual(claimed, [soon.id, late.id, old.id]);
    }),
  );

  test(
    "an ordered group ages, too, and a retry still keeps its head",
    withFlow(async (scenario) => {
      const { setTypeRule, start, claim, end } = scenario;
      const now = baseTime + 2_000;
      await setTypeRule({ agePriorityMs: 1_000 });
      const ordered = { group: "a", ordered: "continue" } as const;
      const old = await start({ ...ordered, priority: 0 });
      const late = await start({ ...ordered, priority: 1 }, baseTime + 1_500);
      const [first] = await claim({ now });
      assert.equal(first?.id, old.id);
      await end(first, { kind: "retry", schedule: { afterMs: 100 }, error: null }, now);
      assert.deepEqual(await claim({ now }), []);
      const [again] = await claim({ now: now + 100 });
      assert.equal(again?.id, old.id);
      await end(again, completion, now + 100);
      assert.equal((await claim({ now: now + 100 }))[0]?.id, late.id);
    }),
  );

  /** Nobody holds any, but the reaper has more to do. */
  const reap = ({ adapter }: FlowScenario, now: number) =>
    adapter.reapExpiredLeases({ limit: 100, error: "", now });

  for (const group of [null, "a"]) {
    test(
      `the reaper sees to jobs that wait already when a rule changes, ${group === null ? "without a group" : "in a group"}`,
      withFlow(async (scenario) => {
        const { claimIds, setTypeRule } = scenario;
        const now = baseTime + 2_000;
        const orderAfter = async (agePriorityMs: number | null) => {
          await setTypeRule({ agePriorityMs }, undefined, now);
          await reap(scenario, now);
          return claimIds({ now });
        };
        const before = await startThree(scenario, group);
        assert.deepEqual(await orderAfter(1_000), [before.soon.id, before.old.id, before.late.id]);
        const aged = await startThree(scenario, group);
        assert.deepEqual(await orderAfter(100_000), [aged.soon.id, aged.late.id, aged.old.id]);
        await setTypeRule({ agePriorityMs: 1_000 });
        const free = await startThree(scenario, group);
        assert.deepEqual(await orderAfter(null), [free.soon.id, free.late.id, free.old.id]);
      }),
    );
  }

  test(
    "and to those of all types when the rule of their queue changes",
    withFlow(async (scenario) => {
      const types = [scenario.typeName, `type-${randomUUID()}`];
      const started = new Map<string, string[]>();
      for (const typeName of types) {
        const { old, soon, late } = await startThree(scenario, null, typeName);
        started.set(typeName, [soon.id, old.id, late.id]);
      }
      const now = baseTime + 2_000;
      await scenario.setQueueRule({ agePriorityMs: 1_000 });
      await reap(scenario, now);
      const claimed = await scenario.claim({ now });
      for (const typeName of types)
        assert.deepEqual(idsOf(claimed.filter((job) => job.typeName === typeName)), started.get(typeName));
    }),
  );

  test(
    "and to those that were for later at that time",
    withFlow(async (scenario) => {
      const { start, setTypeRule, claimIds } = scenario;
      const startTwo = async () => {
        const low = await start({ priority: 0, schedule: { afterMs: 1_000 } });
        const high = await start({ priority: 1, schedule: { afterMs: 2_500 } });
        return { low, high };
      };
      const now = baseTime + 3_000;
      const before = await startTwo();
      await setTypeRule({ agePriorityMs: 1_000 });
      await reap(scenario, baseTime);
      assert.deepEqual(await claimIds({ now }), [before.low.id, before.high.id]);
      const aged = await startTwo();
      await setTypeRule({ agePriorityMs: null });
      await reap(scenario, baseTime);
      assert.deepEqual(await claimIds({ now }), [aged.high.id, aged.low.id]);
    }),
  );
};
