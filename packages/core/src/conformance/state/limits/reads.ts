import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";
import { times, withLimits } from "./limits-scenario.ts";

export const describeLimitsReads = ({ test }: StateSuite): void => {
  test(
    "listRules lists rules and types with groups, with how much is in use",
    withLimits(
      async ({ setQueueRule, setTypeRule, startGroup, startMany, claim, limits, queue, typeName }) => {
        const grouped = `${typeName}-grouped`;
        await setQueueRule({ concurrency: 10, rate: { limit: 5, perMs: 1_000, burst: 5 } });
        await setTypeRule({ concurrency: 1 });
        await startMany(times(3, () => ({})));
        await startGroup("a", 2, { typeName: grouped });
        await startGroup("b", 1, { typeName: grouped });
        assert.equal((await claim({ typeNames: [typeName] })).length, 1);
        const uses = await limits.listRules({ queue, now: baseTime });
        assert.deepEqual(
          uses.map(({ rule, running, tokens }) => [rule.typeName, rule.version, running, tokens]),
          [
            [null, 1, 1, 4],
            [typeName, 1, 1, null],
            [grouped, 0, 0, null],
          ],
        );
        assert.deepEqual(
          uses.map(({ claimableGroups, throttledGroups }) => [claimableGroups, throttledGroups]),
          [
            [2, 1],
            [0, 1],
            [2, 0],
          ],
        );
        const everywhere = await limits.listRules({ queue: null, now: baseTime });
        assert.equal(everywhere.filter(({ rule }) => rule.queue === queue).length, 3);
        assert.deepEqual(await limits.listRules({ queue: `${queue}-other`, now: baseTime }), []);
      },
    ),
  );

  test(
    "listGroups lists groups by who has waited longest or runs most",
    withLimits(async ({ setTypeRule, startGroup, claim, limits, queue, typeName }) => {
      await setTypeRule({ perGroup: { concurrency: 2, rate: null } });
      await startGroup("one", 3);
      assert.equal((await claim()).length, 2);
      await startGroup("two", 1, {}, baseTime + 1);
      await startGroup("three", 2, {}, baseTime + 2);
      assert.equal((await claim({ now: baseTime + 2, limit: 1 })).length, 1);
      const now = baseTime + 2;
      const list = async (call: { throttled?: boolean; order?: "waiting" | "running"; limit?: number }) =>
        (await limits.listGroups({ queue, typeName, order: "waiting", limit: 10, now, ...call })).map(
          ({ group, running, waiting, waitingSince, throttledBy }) => [
            group,
            running,
            waiting,
            waitingSince === null ? null : waitingSince - baseTime,
            throttledBy,
          ],
        );
      const all = await list({});
      assert.deepEqual(all[0], ["one", 2, 1, 0, "concurrency"]);
      assert.equal(all.length, 3);
      assert.deepEqual(await list({ throttled: true }), [all[0]]);
      assert.deepEqual((await list({ throttled: false })).map(([group]) => String(group)).sort(), [
        "three",
        "two",
      ]);
      assert.deepEqual((await list({ order: "running", limit: 1 }))[0]?.[0], "one");
      assert.deepEqual(
        await limits.listGroups({ queue, typeName: "nobody's", order: "waiting", limit: 9, now }),
        [],
      );
    }),
  );

  test(
    "repairCounters finds nothing to repair, and repairing leaves everything as it is",
    withLimits(async ({ setQueueRule, startGroup, claim, limits, assertCounters }) => {
      await setQueueRule({ concurrency: 2 });
      await startGroup("a", 4);
      await claim();
      await assertCounters();
      await limits.repairCounters({ repair: true, now: baseTime });
      assert.deepEqual(await claim(), []);
    }),
  );
};
