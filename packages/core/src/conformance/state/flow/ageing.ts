import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import { completion } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type FlowScenario, withFlow } from "./flow-scenario.ts";

/** Three jobs: the first of low priority, one of the next higher priority soon after, and one when its time has passed. */
const startThree = async ({ start }: FlowScenario, group: string | null) => {
  const old = await start({ group, priority: 0 });
  const soon = await start({ group, priority: 1 }, baseTime + 500);
  const late = await start({ group, priority: 1 }, baseTime + 1_500);
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
};
