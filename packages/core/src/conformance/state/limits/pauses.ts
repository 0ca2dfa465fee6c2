import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import { completion, retryAfter } from "../../state-scenario.ts";
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
};
