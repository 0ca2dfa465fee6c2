import assert from "node:assert/strict";
import type { LimitRuleChange } from "../../../store/contract/limits.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { times, withLimits } from "./limits-scenario.ts";

export const describePauses = ({ test }: StateSuite): void => {
  test(
    "nothing is claimed from a paused queue, and everything after it is resumed",
    withLimits(async ({ setQueueRule, startMany, startGroup, claim, hold, nextRunnableIn, queue }) => {
      const jobs = [...(await startMany(times(2, () => ({})))), ...(await startGroup("a", 2))];
      await setQueueRule({ paused: true });
      await startMany([{}]);
      assert.deepEqual(await claim(), []);
      assert.equal(await nextRunnableIn(), null);
      assert.deepEqual(await hold(jobs[0]!), {
        by: "paused",
        queue,
        typeName: null,
        group: null,
        limit: null,
        inUse: null,
        claimableAt: null,
        jobIds: [],
      });
      await setQueueRule({ paused: false });
      assert.equal(await nextRunnableIn(), 0);
      assert.equal((await claim()).length, 5);
    }),
  );

  test(
    "a paused type leaves the others alone",
    withLimits(async ({ setTypeRule, startMany, claim, hold, typeName }) => {
      const [job] = await startMany([{}, { typeName: `${typeName}-other` }]);
      await setTypeRule({ paused: true });
      assert.deepEqual(
        (await claim()).map((claimed) => claimed.typeName),
        [`${typeName}-other`],
      );
      const held = await hold(job!);
      assert.deepEqual([held?.by, held?.typeName, held?.group], ["paused", typeName, null]);
    }),
  );

  test(
    "what runs goes on: it renews, retries into the pause, completes",
    withLimits(async ({ adapter, setQueueRule, startMany, claim, end }) => {
      await startMany([{}, {}]);
      const [first, second] = await claim();
      await setQueueRule({ paused: true });
      const leases = [{ jobId: first!.id, leaseToken: first!.leaseToken!, leaseMs: 9_000 }];
      assert.equal((await adapter.renewLeases({ leases, now: baseTime }))[0]?.kind, "renewed");
      assert.equal((await end(first!, retryAfter(0))).kind, "applied");
      assert.equal((await end(second!, completion)).kind, "applied");
      assert.deepEqual(await claim(), []);
      await setQueueRule({ paused: false });
      assert.equal((await claim())[0]?.id, first?.id);
    }),
  );

  test(
    "the job of an expired lease stays where it is while its queue is paused",
    withLimits(async ({ setQueueRule, start, claim, nextRunnableIn }) => {
      await start();
      await claim({ leaseMs: 1_000 });
      await setQueueRule({ paused: true });
      const now = baseTime + 1_000;
      assert.deepEqual(await claim({ now }), []);
      assert.equal(await nextRunnableIn(now), null);
      await setQueueRule({ paused: false });
      assert.equal((await claim({ now })).length, 1);
    }),
  );

  test(
    "of several reasons the outermost is named",
    withLimits(async ({ setQueueRule, setTypeRule, startGroup, claim, hold }) => {
      await setTypeRule({ concurrency: 1, perGroup: { concurrency: 1, rate: null } });
      const [, second] = await startGroup("a", 2);
      assert.equal((await claim()).length, 1);
      const held = await hold(second!);
      assert.deepEqual([held?.by, held?.group], ["concurrency", null]);
      await setQueueRule({ paused: true });
      assert.equal((await hold(second!))?.by, "paused");
    }),
  );

  for (const scope of ["queue", "type"] as const) {
    test(
      `a ${scope} paused until a time goes on by itself, and nextRunnableIn knows when`,
      withLimits(async (scenario) => {
        const {
          setQueueRule,
          setTypeRule,
          startMany,
          startGroup,
          claim,
          hold,
          nextRunnableIn,
          limits,
          queue,
        } = scenario;
        const set = (change: LimitRuleChange, now = baseTime) =>
          scope === "queue" ? setQueueRule(change, now) : setTypeRule(change, undefined, now);
        const [job] = [...(await startMany([{}])), ...(await startGroup("a", 1))];
        const { rule } = await set({ paused: true, pauseUntil: { afterMs: 500 } });
        assert.deepEqual([rule.paused, rule.pausedUntil], [true, baseTime + 500]);
        assert.deepEqual(await claim({ now: baseTime + 499 }), []);
        assert.equal(await nextRunnableIn(), 500);
        const held = await hold(job!);
        assert.deepEqual([held?.by, held?.group, held?.claimableAt], ["paused", null, baseTime + 500]);
        const pauseIn = async (now: number) => {
          const [use] = await limits.listRules({ queue, now });
          return [use?.rule.paused, use?.rule.pausedUntil];
        };
        assert.deepEqual(await pauseIn(baseTime + 499), [true, baseTime + 500]);
        assert.deepEqual(await pauseIn(baseTime + 500), [false, null]);
        assert.equal(await hold(job!, baseTime + 500), null);
        assert.equal(await nextRunnableIn(baseTime + 500), 0);
        assert.equal((await claim({ now: baseTime + 500 })).length, 2);
        const again = await set({ paused: false }, baseTime + 500);
        assert.equal(again.kind, "unchanged", "a pause that is over is none");
      }),
    );
  }

  test(
    "another pause replaces the end of the first, and other changes leave it",
    withLimits(async ({ setQueueRule, start, claim, nextRunnableIn }) => {
      await start();
      await setQueueRule({ paused: true });
      assert.equal(await nextRunnableIn(), null);
      await setQueueRule({ paused: true, pauseUntil: { at: baseTime + 800 } });
      await setQueueRule({ concurrency: 5 });
      assert.equal(await nextRunnableIn(), 800);
      await setQueueRule({ paused: true, pauseUntil: { afterMs: 200 } });
      assert.equal(await nextRunnableIn(), 200);
      await setQueueRule({ paused: true });
      assert.equal(await nextRunnableIn(), null);
      await setQueueRule({ paused: false });
      assert.equal((await claim()).length, 1);
    }),
  );

  test(
    "a paused group leaves the others alone, until it is resumed",
    withLimits(async ({ limits, queue, typeName, startGroup, startMany, claim, hold, nextRunnableIn }) => {
      const group = { queue, typeName, group: "a", now: baseTime };
      const [job] = await startGroup("a", 2);
      await startGroup("b", 1);
      await startMany([{}]);
      await limits.pauseGroup({ ...group, until: null });
      const claimed = await claim();
      assert.deepEqual(claimed.map((each) => each.group ?? "none").sort(), ["b", "none"]);
      assert.equal(await nextRunnableIn(baseTime), 30_000, "when the leases of the others end");
      const held = await hold(job!);
      assert.deepEqual([held?.by, held?.group, held?.claimableAt], ["paused", "a", null]);
      const { groups: listed } = await limits.listGroups({ ...group, order: "waiting", limit: 10 });
      const { paused, pausedUntil, throttledBy } = listed.find((each) => each.group === "a")!;
      assert.deepEqual([paused, pausedUntil, throttledBy], [true, null, "paused"]);
      assert.equal(listed.find((each) => each.group === "b")?.paused, false);
      assert.equal(await limits.resumeGroup(group), true);
      assert.equal(await limits.resumeGroup(group), false);
      assert.equal((await claim()).length, 2);
    }),
  );

  test(
    "a group paused until a time goes on by itself; its end can move both ways",
    withLimits(async ({ limits, queue, typeName, startGroup, claim, hold, nextRunnableIn }) => {
      const group = { queue, typeName, group: "a", now: baseTime };
      const [job] = await startGroup("a", 1);
      await limits.pauseGroup({ ...group, until: null });
      assert.deepEqual(await claim(), []);
      await limits.pauseGroup({ ...group, until: { afterMs: 900 } });
      assert.deepEqual(await claim(), []);
      assert.equal(await nextRunnableIn(), 900);
      await limits.pauseGroup({ ...group, until: { at: baseTime + 400 } });
      assert.equal(await nextRunnableIn(), 400);
      assert.equal((await hold(job!))?.claimableAt, baseTime + 400);
      assert.deepEqual(await claim({ now: baseTime + 399 }), []);
      await limits.pauseGroup({ ...group, until: { at: baseTime + 600 } });
      assert.deepEqual(await claim({ now: baseTime + 599 }), []);
      assert.equal(await hold(job!, baseTime + 600), null);
      assert.equal((await claim({ now: baseTime + 600 })).length, 1);
      assert.equal(await limits.resumeGroup({ ...group, now: baseTime + 600 }), false, "it is over");
    }),
  );

  test(
    "a group can be paused before it has a job, and while its job runs",
    withLimits(async ({ limits, queue, typeName, startGroup, claim, completeAll, assertCounters }) => {
      await limits.pauseGroup({ queue, typeName, group: "a", until: { afterMs: 500 }, now: baseTime });
      await startGroup("a", 2);
      assert.deepEqual(await claim(), []);
      const later = baseTime + 500;
      const [job] = await claim({ now: later, limit: 1 });
      await limits.pauseGroup({ queue, typeName, group: "a", until: { afterMs: 500 }, now: later });
      await completeAll([job!], later);
      assert.deepEqual(await claim({ now: later + 499 }), []);
      assert.equal((await claim({ now: later + 500 })).length, 1);
      await assertCounters();
    }),
  );

  test(
    "resumeGroup ends the pause and the stop of a group together",
    withLimits(async ({ limits, queue, typeName, startGroup, claim, end }) => {
      const group = { queue, typeName, group: "a", now: baseTime };
      await startGroup("a", 2, { ordered: "stop", maxAttempts: 1 });
      const [first] = await claim();
      await end(first!, failure);
      await limits.pauseGroup({ ...group, until: { afterMs: 500 } });
      assert.deepEqual(
        await claim({ now: baseTime + 500 }),
        [],
        "the end of the pause does not end the stop",
      );
      await limits.pauseGroup({ ...group, until: null });
      assert.equal(await limits.resumeGroup(group), true);
      assert.equal((await claim()).length, 1);
    }),
  );

  test(
    "a pause of a group is committed or rolled back with its transaction",
    withLimits(async ({ adapter, limits, queue, typeName, startGroup, claim }) => {
      await startGroup("a", 2);
      const group = { queue, typeName, group: "a", now: baseTime, until: null };
      const stop = new Error("roll back");
      const rolledBack = adapter.runInTransaction(async (ctx: object) => {
        await limits.pauseGroup({ ...group, ctx });
        throw stop;
      });
      await assert.rejects(rolledBack, stop);
      assert.equal((await claim({ limit: 1 })).length, 1);
      await adapter.runInTransaction((ctx: object) => limits.pauseGroup({ ...group, ctx }));
      assert.deepEqual(await claim(), []);
    }),
  );
};
