import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import { failure, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type LimitsScenario, withLimits } from "./limits-scenario.ts";

const stopping = { ordered: "stop" } as const;

/** Three jobs of a group, of which the first has failed for good. */
const stopGroup = async ({ startGroup, claim, end }: LimitsScenario, now: number = baseTime) => {
  const jobs = await startGroup("a", 3, stopping, now);
  const [first] = await claim({ now });
  assert.equal(first?.id, jobs[0]?.id);
  await end(first!, failure, now);
  return jobs;
};

export const describeStoppedGroups = ({ test, testAlone }: StateSuite): void => {
  test(
    "a failure stops the group and no other, and says by whom",
    withLimits(async (scenario) => {
      const { startGroup, claim, hold, nextRunnableIn, limits, queue, typeName } = scenario;
      const [failed, next] = await stopGroup(scenario);
      assert.deepEqual(await claim(), []);
      assert.equal(await nextRunnableIn(), null);
      assert.deepEqual(await hold(next!), {
        by: "stopped",
        queue,
        typeName,
        group: "a",
        limit: null,
        inUse: null,
        claimableAt: null,
        jobIds: [failed!.id],
      });
      const groups = { queue, typeName, order: "waiting", limit: 10, now: baseTime } as const;
      assert.deepEqual((await limits.listGroups({ ...groups, throttled: true })).groups, [
        {
          group: "a",
          running: 0,
          waiting: 2,
          waitingSince: baseTime,
          throttledBy: "stopped",
          stoppedBy: failed!.id,
          paused: false,
          pausedUntil: null,
        },
      ]);
      const [other] = await startGroup("b", 1, stopping);
      assert.deepEqual(
        (await claim()).map(({ id }) => id),
        [other?.id],
      );
    }),
  );

  test(
    "resumeGroup lets it go on, once",
    withLimits(async (scenario) => {
      const { limits, queue, typeName, claim, hold } = scenario;
      const [, next] = await stopGroup(scenario);
      const group = { queue, typeName, group: "a", now: baseTime };
      assert.equal(await limits.resumeGroup(group), true);
      assert.equal(await limits.resumeGroup(group), false);
      assert.equal(await limits.resumeGroup({ ...group, group: "nobody" }), false);
      assert.equal(await hold(next!), null);
      assert.equal((await claim())[0]?.id, next?.id);
    }),
  );

  test(
    "redriving the failed job lets it go on, with that job first",
    withLimits(async (scenario) => {
      const [failed] = await stopGroup(scenario);
      await scenario.adapter.redriveJobs({ jobIds: [failed!.id], now: baseTime + 1 });
      const claimed = await scenario.claim({ now: baseTime + 1 });
      assert.deepEqual(
        claimed.map(({ id }) => id),
        [failed?.id],
      );
    }),
  );

  for (const lift of ["redriven", "deleted"] as const) {
    test(
      `a failed job that is ${lift} resumes the group only if it was the one that stopped it`,
      withLimits(async (scenario) => {
        const { adapter, limits, queue, typeName, claim, claimIds, end, hold } = scenario;
        const liftStop = async (jobId: string): Promise<void> => {
          if (lift === "redriven") await adapter.redriveJobs({ jobIds: [jobId], now: baseTime });
          else await adapter.deleteSequences({ rootSequenceIds: [jobId], now: baseTime });
        };
        const [earlier, later, last] = await stopGroup(scenario);
        await limits.resumeGroup({ queue, typeName, group: "a", now: baseTime });
        const [second] = await claim();
        await end(second!, failure);
        await liftStop(earlier!.id);
        assert.deepEqual(await claim(), []);
        assert.deepEqual((await hold(last!))?.jobIds, [later!.id]);
        await liftStop(later!.id);
        assert.deepEqual(await claimIds(), [lift === "redriven" ? earlier!.id : last!.id]);
      }),
    );
  }

  test(
    "deleting the failed job lets it go on",
    withLimits(async (scenario) => {
      const [failed, next] = await stopGroup(scenario);
      await scenario.adapter.deleteSequences({ rootSequenceIds: [failed!.id], now: baseTime });
      assert.equal((await scenario.claim())[0]?.id, next?.id);
    }),
  );

  test(
    "a retry or a cancelled job does not stop it",
    withLimits(async (scenario) => {
      const { startGroup, claim, end, cancel } = scenario;
      const [first, second] = await startGroup("a", 2, stopping);
      const [running] = await claim();
      await end(running!, retryAfter(0));
      assert.equal((await claim())[0]?.id, first?.id);
      await cancel(first!);
      assert.equal((await claim())[0]?.id, second?.id);
    }),
  );

  test(
    "jobs that come later wait too",
    withLimits(async (scenario) => {
      await stopGroup(scenario);
      await scenario.startGroup("a", 1, { ...stopping, priority: 9 });
      assert.deepEqual(await scenario.claim(), []);
    }),
  );

  testAlone(
    "the last lease stops it like a failure",
    withLimits(async ({ adapter, startGroup, claim, hold }) => {
      const [first, second] = await startGroup("a", 2, { ...stopping, maxAttempts: 1 });
      await claim({ leaseMs: 1_000 });
      const now = baseTime + 1_000;
      await adapter.reapExpiredLeases({ limit: 10, error: "lost", now });
      assert.deepEqual(await claim({ now }), []);
      assert.deepEqual((await hold(second!, now))?.jobIds, [first!.id]);
    }),
  );

  testAlone(
    "pruning the failed job leaves it stopped",
    withLimits(async (scenario) => {
      const { adapter, limits, queue, typeName, claim } = scenario;
      await stopGroup(scenario);
      const now = baseTime + 10_000;
      const rule = { sequenceTypeNames: null, completedBefore: now, failedBefore: now };
      const pruned = await adapter.pruneSequences({ rules: [rule], limit: 10, after: null, now });
      assert.equal(pruned?.deletedJobs, 1);
      assert.deepEqual(await claim({ now }), []);
      assert.equal(await limits.resumeGroup({ queue, typeName, group: "a", now }), true);
      assert.equal((await claim({ now })).length, 1);
    }),
  );
};
