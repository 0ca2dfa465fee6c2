import assert from "node:assert/strict";
import { InvalidOptionError } from "../../../base/errors.ts";
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
        pausedUntil: null,
        concurrency: 4,
        rate,
        perGroup: null,
        weights: { a: 2 },
        groups: {},
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
    "a change leaves what it does not name inside perGroup and weights; null removes one",
    withLimits(async ({ setTypeRule }) => {
      const rate = { limit: 5, perMs: 1_000, burst: 1 };
      await setTypeRule({ perGroup: { rate }, weights: { a: 2 } });
      const both = await setTypeRule({ perGroup: { concurrency: 2 }, weights: { b: 3 } });
      assert.deepEqual(both.rule.perGroup, { concurrency: 2, rate });
      assert.deepEqual(both.rule.weights, { a: 2, b: 3 });
      const one = await setTypeRule({ perGroup: { rate: null }, weights: { a: null } });
      assert.deepEqual(one.rule.perGroup, { concurrency: 2, rate: null });
      assert.deepEqual(one.rule.weights, { b: 3 });
      const again = await setTypeRule({ perGroup: { concurrency: 2 }, weights: { a: null } });
      assert.deepEqual(again, { kind: "unchanged", rule: one.rule });
      const none = await setTypeRule({ perGroup: { concurrency: null }, weights: null });
      assert.deepEqual([none.rule.perGroup, none.rule.weights], [null, {}]);
    }),
  );

  test(
    "the limits of a named group are in place of those of each group",
    withLimits(
      async ({ setTypeRule, startGroup, claim, hold, completeAll, assertCounters, limits, queue }) => {
        await setTypeRule({ perGroup: { concurrency: 1 }, groups: { big: { concurrency: 3 } } });
        const [, , , last] = await startGroup("big", 4);
        await startGroup("small", 4);
        const running = await claim();
        assert.deepEqual(running.map(({ group }) => String(group)).sort(), ["big", "big", "big", "small"]);
        const throttle = await hold(last!);
        assert.deepEqual([throttle?.by, throttle?.group, throttle?.limit], ["concurrency", "big", 3]);
        const [use] = await limits.listRules({ queue, now: baseTime });
        assert.deepEqual(use?.rule.groups, { big: { concurrency: 3, rate: null } });
        // One more slot for the group opens it for the next claim; without any of its own it has that of each group.
        await setTypeRule({ groups: { big: { concurrency: 4 } } });
        assert.deepEqual(
          (await claim()).map(({ id }) => id),
          [last!.id],
        );
        const { rule } = await setTypeRule({ groups: { big: { concurrency: null } } });
        assert.deepEqual([rule.groups, rule.perGroup?.concurrency], [{}, 1]);
        await startGroup("big", 1);
        assert.deepEqual(await claim(), []);
        await completeAll(running);
        assert.deepEqual(
          (await claim()).map(({ group }) => group),
          ["small"],
        );
        await assertCounters();
      },
    ),
  );

  test(
    "a named group without limits for each group is counted from its first limit on",
    withLimits(async ({ setTypeRule, startGroup, claim, completeAll, assertCounters }) => {
      await startGroup("big", 3);
      await startGroup("other", 1);
      const running = await claim({ limit: 2 });
      const ofBig = running.filter(({ group }) => group === "big");
      await setTypeRule({ groups: { big: { concurrency: 1 } } });
      const rest = await claim();
      assert.deepEqual(
        rest.map(({ group }) => group),
        ofBig.length === 2 ? ["other"] : [],
      );
      await completeAll(ofBig);
      assert.deepEqual(
        (await claim()).map(({ group }) => group),
        ["big"],
      );
      await assertCounters();
    }),
  );

  test(
    "a rate of a named group has a bucket of its own, which edits of the rate of each group leave alone",
    withLimits(async ({ setTypeRule, setQueueRule, startGroup, claim, hold }) => {
      const slow = { limit: 1, perMs: 6_000, burst: 1 };
      const rate = { limit: 2, perMs: 6_000, burst: 2 };
      await setTypeRule({ perGroup: { rate: slow }, groups: { big: { rate } } });
      const [, , third] = await startGroup("big", 4);
      await startGroup("small", 4);
      const groupsOf = async (now = baseTime) =>
        (await claim({ now })).map(({ group }) => String(group)).sort();
      assert.deepEqual(await groupsOf(), ["big", "big", "small"]);
      const throttle = await hold(third!);
      assert.deepEqual([throttle?.by, throttle?.limit, throttle?.claimableAt], ["rate", 2, baseTime + 3_000]);
      await setTypeRule({ perGroup: null });
      await setQueueRule({ perGroup: { rate: { limit: 4, perMs: 6_000, burst: 4 } } });
      assert.deepEqual(await groupsOf(), ["small", "small", "small"]);
      assert.deepEqual(await groupsOf(baseTime + 3_000), ["big"]);
      // Spent tokens stay spent when the group goes by the rate of each group again.
      await setTypeRule({ groups: { big: null } }, undefined, baseTime + 3_000);
      assert.deepEqual(await groupsOf(baseTime + 3_000), []);
      assert.deepEqual(await groupsOf(baseTime + 4_500), ["big"]);
    }),
  );

  test(
    "after a slow rate of a named group a faster one applies at once, and a first one begins full",
    withLimits(async ({ setTypeRule, startGroup, claim, nextRunnableIn }) => {
      const rateOf = (perMs: number, limit = 1) => ({
        groups: { big: { rate: { limit, perMs, burst: 1 } } },
      });
      await setTypeRule(rateOf(600_000));
      await startGroup("big", 4);
      assert.equal((await claim()).length, 1);
      await setTypeRule(rateOf(1_000));
      assert.deepEqual([await claim(), await nextRunnableIn()], [[], 1_000]);
      assert.equal((await claim({ now: baseTime + 1_000 })).length, 1);
      const now = baseTime + 1_001;
      await setTypeRule({ groups: { big: { rate: null, concurrency: 100 } } }, undefined, now);
      await setTypeRule(rateOf(600_000), undefined, now);
      assert.equal((await claim({ now })).length, 1);
    }),
  );

  test(
    "a change of one named group leaves the others, and what it does not name",
    withLimits(async ({ setTypeRule }) => {
      const rate = { limit: 2, perMs: 1_000, burst: null };
      await setTypeRule({ groups: { a: { concurrency: 1, rate }, b: { concurrency: 2 } } });
      const { rule } = await setTypeRule({ groups: { a: { concurrency: 5 } } });
      assert.deepEqual(rule.groups, {
        a: { concurrency: 5, rate },
        b: { concurrency: 2, rate: null },
      });
      const again = await setTypeRule({ groups: { a: { concurrency: 5 }, c: null } });
      assert.equal(again.kind, "unchanged");
      assert.deepEqual(Object.keys((await setTypeRule({ groups: { b: null } })).rule.groups), ["a"]);
      assert.deepEqual((await setTypeRule({ groups: null })).rule.groups, {});
      await setTypeRule({
        groups: Object.fromEntries(times(1_000, (index) => [`group-${index}`, { concurrency: 2 }])),
      });
      await assert.rejects(setTypeRule({ groups: { another: { concurrency: 2 } } }), InvalidOptionError);
    }),
  );

  test(
    "weights of more than 1,000 groups are refused, however many calls set them",
    withLimits(async ({ setTypeRule, limits, queue }) => {
      await setTypeRule({ weights: Object.fromEntries(times(1_000, (index) => [`group-${index}`, 2])) });
      await assert.rejects(setTypeRule({ weights: { another: 2 } }), InvalidOptionError);
      const replaced = await setTypeRule({ weights: { "group-0": null, another: 2 } });
      assert.equal(Object.keys(replaced.rule.weights).length, 1_000);
      const [listed] = await limits.listRules({ queue, now: baseTime });
      assert.equal(listed?.rule.version, 2);
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
