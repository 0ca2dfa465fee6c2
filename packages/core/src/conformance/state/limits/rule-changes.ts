import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";
import { times, withLimits } from "./limits-scenario.ts";

export const describeRuleChanges = ({ test }: StateSuite): void => {
  test(
    "a change sets what it names and leaves the rest; the version counts changes",
    withLimits(async ({ setTypeRule, limits, queue, typeName }) => {
      const rate = { limit: 5, perMs: 1_000, burst: 1 };
      const first = await setTypeRule({ concurrency: 4, weights: { a: 2 } });
      assert.equal(first.kind, "set");
      const second = await setTypeRule({ rate, paused: true });
      const expected = {
        queue,
        typeName,
        paused: true,
        concurrency: 4,
        rate,
        perGroup: null,
        weights: { a: 2 },
        version: 2,
      };
      assert.deepEqual(second, { kind: "set", rule: expected });
      assert.deepEqual(
        (await limits.listRules({ queue, now: baseTime })).map(({ rule }) => rule),
        [expected],
      );
    }),
  );

  test(
    "what is there already changes nothing",
    withLimits(async ({ setTypeRule }) => {
      const perGroup = { concurrency: 2, rate: { limit: 5, perMs: 1_000, burst: 1 } };
      const { rule } = await setTypeRule({ perGroup, weights: { a: 2, b: 3 } });
      const again = await setTypeRule({ perGroup: { ...perGroup }, weights: { b: 3, a: 2 }, paused: false });
      assert.deepEqual(again, { kind: "unchanged", rule });
    }),
  );

  test(
    "an expected version has to be the present one",
    withLimits(async ({ limits, queue, typeName }) => {
      const scope = { queue, typeName, now: baseTime };
      const set = (concurrency: number, expectedVersion: number) =>
        limits.setRule({ ...scope, change: { concurrency }, expectedVersion });
      assert.equal((await set(3, 1)).kind, "version_mismatch");
      assert.equal((await set(3, 0)).kind, "set");
      const late = await set(9, 0);
      assert.deepEqual([late.kind, late.rule.version, late.rule.concurrency], ["version_mismatch", 1, 3]);
      assert.equal((await set(9, 1)).rule.concurrency, 9);
    }),
  );

  test(
    "a limit lowered below its use interrupts nothing, and lets nobody in until there is room",
    withLimits(async ({ setQueueRule, startMany, claim, completeAll, reloadAll, assertCounters }) => {
      await setQueueRule({ concurrency: 4 });
      await startMany(times(9, () => ({})));
      const running = await claim();
      await setQueueRule({ concurrency: 2 });
      assert.ok((await reloadAll(running)).every(({ status }) => status === "running"));
      await completeAll(running.slice(0, 2));
      assert.deepEqual(await claim(), []);
      await completeAll(running.slice(2, 3));
      assert.equal((await claim()).length, 1);
      await assertCounters();
    }),
  );

  test(
    "a raised limit lets jobs in at once",
    withLimits(async ({ setQueueRule, setTypeRule, startGroup, claim, nextRunnableIn }) => {
      await setQueueRule({ concurrency: 1 });
      await startGroup("a", 9);
      assert.equal((await claim()).length, 1);
      await setQueueRule({ concurrency: 3 });
      assert.equal(await nextRunnableIn(), 0);
      assert.equal((await claim()).length, 2);
      await setTypeRule({ perGroup: { concurrency: 4, rate: null } });
      await setQueueRule({ concurrency: null });
      assert.equal((await claim()).length, 1);
      await setTypeRule({ perGroup: { concurrency: 6, rate: null } });
      assert.equal((await claim()).length, 2);
    }),
  );

  for (const scope of ["queue", "type", "group"] as const) {
    test(
      `a first limit of a ${scope} counts the jobs that are running`,
      withLimits(async (scenario) => {
        const { setQueueRule, setTypeRule, startGroup, claim, completeAll, reload, assertCounters } =
          scenario;
        await startGroup("a", 9);
        const running = await claim({ limit: 3 });
        if (scope === "queue") await setQueueRule({ concurrency: 3 });
        else if (scope === "type") await setTypeRule({ concurrency: 3 });
        else await setTypeRule({ perGroup: { concurrency: 3, rate: null } });
        assert.ok((await reload(running[0]!)).limited);
        assert.deepEqual(await claim(), []);
        await completeAll(running.slice(0, 1));
        assert.equal((await claim()).length, 1);
        await assertCounters();
      }),
    );
  }

  test(
    "a first limit counts jobs without a group, too",
    withLimits(async ({ setTypeRule, startMany, claim, completeAll, assertCounters }) => {
      await startMany(times(6, () => ({})));
      const running = await claim({ limit: 4 });
      await setTypeRule({ concurrency: 2 });
      await completeAll(running.slice(0, 2));
      assert.deepEqual(await claim(), []);
      await completeAll(running.slice(2, 3));
      assert.equal((await claim()).length, 1);
      await assertCounters();
    }),
  );

  test(
    "a limit that was removed and set again counts what runs by then",
    withLimits(async ({ setQueueRule, startMany, claim, completeAll, assertCounters }) => {
      await setQueueRule({ concurrency: 2 });
      await startMany(times(9, () => ({})));
      const early = await claim();
      await setQueueRule({ concurrency: null });
      const more = await claim({ limit: 3 });
      assert.equal(more.length, 3);
      await completeAll([early[0]!, more[0]!]);
      await setQueueRule({ concurrency: 3 });
      assert.deepEqual(await claim(), []);
      await completeAll([early[1]!, more[1]!]);
      assert.equal((await claim()).length, 2);
      await assertCounters();
    }),
  );
};
