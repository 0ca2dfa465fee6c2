import assert from "node:assert/strict";
import type { RateLimit } from "../../../store/contract/limits.ts";
import { createRandom } from "../../random.ts";
import { baseTime } from "../../state-fixture.ts";
import { release } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type LimitsScenario, times, withLimits } from "./limits-scenario.ts";

const longTimeoutMs = 60_000;

/** Claims at random moments as many as it can, and notes the moment of each claim. */
const claimAtRandom = async (
  { claim, completeAll }: LimitsScenario,
  claims: number,
  longestPauseMs: number,
): Promise<number[]> => {
  const random = createRandom(5);
  const moments: number[] = [];
  let now = baseTime;
  for (let count = 0; count < claims; count += 1) {
    now += Math.floor(random() * longestPauseMs);
    const jobs = await claim({ now, limit: 1 + Math.floor(random() * 20) });
    await completeAll(jobs, now);
    moments.push(...jobs.map(() => now));
  }
  return moments;
};

/** What the contract promises of one window, and of several in a row. */
const assertNoWindowAbove = (moments: readonly number[], { limit, perMs, burst }: RateLimit): void => {
  for (const [index, from] of moments.entries()) {
    for (const windows of [1, 2, 5]) {
      const within = moments.slice(index).filter((moment) => moment < from + windows * perMs).length;
      const most = (burst ?? 1) + windows * limit - 1;
      assert.ok(within <= most, `${within} claims within ${windows * perMs} ms, not ${most}`);
    }
  }
};

export const describeRates = ({ test }: StateSuite): void => {
  for (const rate of [
    { limit: 10, perMs: 1_000, burst: 1 },
    { limit: 10, perMs: 1_000, burst: 4 },
    { limit: 7, perMs: 300, burst: 7 },
    { limit: 40, perMs: 1_000, burst: null },
  ]) {
    test(
      `no window has more than its ${rate.limit} claims in ${rate.perMs} ms and a burst of ${rate.burst ?? "none"}`,
      withLimits(async (scenario) => {
        await scenario.setTypeRule({ rate });
        await scenario.startMany(times(400, () => ({})));
        const moments = await claimAtRandom(scenario, 40, rate.perMs);
        assertNoWindowAbove(moments, rate);
        assert.ok(moments.length > rate.limit, "it lets jobs through");
      }),
      longTimeoutMs,
    );
  }

  test(
    "a rate gives its burst at once, then one at a time, and nextRunnableIn knows when",
    withLimits(async ({ setQueueRule, startMany, claim, nextRunnableIn, hold, limits, queue }) => {
      // One token in 100 ms.
      await setQueueRule({ rate: { limit: 10, perMs: 1_000, burst: 3 } });
      const jobs = await startMany(times(9, () => ({})));
      assert.equal((await claim()).length, 3);
      assert.equal((await claim()).length, 0);
      assert.equal(await nextRunnableIn(), 100);
      assert.deepEqual(await hold(jobs[8]!), {
        by: "rate",
        queue,
        typeName: null,
        group: null,
        limit: 10,
        inUse: null,
        claimableAt: baseTime + 100,
        jobIds: [],
      });
      assert.equal((await claim({ now: baseTime + 99 })).length, 0);
      assert.equal((await claim({ now: baseTime + 100 })).length, 1);
      assert.equal((await claim({ now: baseTime + 100 })).length, 0);
      const [use] = await limits.listRules({ queue, now: baseTime + 300 });
      assert.equal(use?.tokens, 2);
      assert.equal((await claim({ now: baseTime + 10_000 })).length, 3, "no more than the burst");
    }),
  );

  test(
    "a burst keeps the sustained rate: the limit in each time, and the burst once",
    withLimits(async ({ setQueueRule, startMany, claim, completeAll }) => {
      await setQueueRule({ rate: { limit: 5, perMs: 1_000, burst: 5 } });
      await startMany(times(60, () => ({})));
      const counts: number[] = [];
      for (let now = baseTime; now <= baseTime + 8_000; now += 200) {
        const jobs = await claim({ now });
        await completeAll(jobs, now);
        counts.push(jobs.length);
      }
      assert.deepEqual(counts, [5, ...times(40, () => 1)]);
    }),
  );

  test(
    "without a burst a rate gives a twentieth of its limit at once, and no window has more than the limit",
    withLimits(async ({ setQueueRule, startMany, claim, completeAll }) => {
      const rate = { limit: 40, perMs: 100, burst: null };
      await setQueueRule({ rate });
      await startMany(times(400, () => ({})));
      const moments: number[] = [];
      for (let now = baseTime; now < baseTime + 1_000; now += 1) {
        const jobs = await claim({ now });
        await completeAll(jobs, now);
        moments.push(...jobs.map(() => now));
      }
      assert.equal(moments.filter((moment) => moment === baseTime).length, 2);
      assertNoWindowAbove(moments, rate);
      assert.ok(moments.length > 380, `${moments.length} of 400`);
    }),
    longTimeoutMs,
  );

  test(
    "each group has a bucket of its own",
    withLimits(async ({ setTypeRule, startGroup, claim, nextRunnableIn }) => {
      await setTypeRule({ perGroup: { concurrency: null, rate: { limit: 1, perMs: 1_000, burst: 1 } } });
      await startGroup("a", 3);
      await startGroup("b", 3);
      const groups = async (now: number) => (await claim({ now })).map(({ group }) => group ?? "none").sort();
      assert.deepEqual(await groups(baseTime), ["a", "b"]);
      assert.deepEqual(await groups(baseTime + 999), []);
      assert.equal(await nextRunnableIn(baseTime + 999), 1);
      assert.deepEqual(await groups(baseTime + 1_000), ["a", "b"]);
    }),
  );

  test(
    "a job needs a token of its queue, its type and its group; one that is refused by one costs the others nothing",
    withLimits(async ({ setQueueRule, setTypeRule, startGroup, claim, limits, queue }) => {
      const slow = { limit: 1, perMs: 60_000, burst: 1 };
      await setQueueRule({ rate: { limit: 10, perMs: 1_000, burst: 10 } });
      await setTypeRule({ perGroup: { concurrency: null, rate: slow } });
      await startGroup("a", 5);
      await startGroup("b", 5);
      assert.equal((await claim()).length, 2);
      assert.equal((await claim()).length, 0);
      const [ofQueue] = await limits.listRules({ queue, now: baseTime });
      assert.equal(ofQueue?.tokens, 8);
    }),
  );

  test(
    "a token is spent by the claim, and nothing returns it",
    withLimits(async ({ setQueueRule, startMany, claim, end }) => {
      await setQueueRule({ rate: { limit: 1, perMs: 1_000, burst: 1 } });
      await startMany([{}, {}]);
      const [job] = await claim();
      await end(job!, release);
      assert.equal((await claim()).length, 0);
      assert.equal((await claim({ now: baseTime + 1_000 })).length, 1);
    }),
  );

  test(
    "editing a rule leaves tokens as they are, and editing the rate keeps what has been spent",
    withLimits(async ({ setQueueRule, startMany, claim }) => {
      await setQueueRule({ rate: { limit: 2, perMs: 1_000, burst: 2 } });
      await startMany(times(9, () => ({})));
      assert.equal((await claim()).length, 2);
      await setQueueRule({ concurrency: 100 });
      assert.equal((await claim()).length, 0);
      await setQueueRule({ rate: { limit: 3, perMs: 1_000, burst: 2 } });
      assert.equal((await claim()).length, 0, "an edit does not fill the bucket");
    }),
  );

  test(
    "after a slow rate a faster one applies at once: nothing is owed beyond an empty bucket",
    withLimits(async ({ setQueueRule, setTypeRule, startMany, startGroup, claim, typeName }) => {
      const slow = { limit: 1, perMs: 3_600_000, burst: 1 };
      const fast = { limit: 1, perMs: 1_000, burst: 1 };
      await setQueueRule({ rate: slow });
      await setTypeRule({ perGroup: { concurrency: null, rate: slow } });
      await startGroup("a", 4);
      await startMany([{ typeName: `${typeName}-other` }]);
      assert.equal((await claim({ typeNames: [typeName] })).length, 1);
      await setQueueRule({ rate: fast });
      await setTypeRule({ perGroup: { concurrency: null, rate: fast } });
      assert.equal((await claim()).length, 0);
      assert.equal((await claim({ now: baseTime + 1_000, typeNames: [typeName] })).length, 1);
    }),
  );
};
