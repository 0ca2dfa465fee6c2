import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import { completion, release, type StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { withLimits } from "./limits-scenario.ts";

/** Returns how many jobs expired; undefined for a store without the part `edits`. */
const expireAt = async ({ adapter }: StateScenario, now: number): Promise<number | undefined> =>
  (await adapter.edits?.expireWaitingJobs({ limit: 10, error: "too late", now }))?.length;

export const describeExpiredGroupJobs = ({ test }: StateSuite): void => {
  test(
    "an expired job leaves its group, and the other jobs of the group run",
    withLimits(async (scenario) => {
      const { setTypeRule, start, claim, claimIds, end, limits, adapter, queue, typeName } = scenario;
      const now = baseTime + 1_000;
      await setTypeRule({ perGroup: { concurrency: 1, rate: null } });
      await start({ group: "a", expireAfterMs: 1_000, priority: 1 });
      const next = await start({ group: "a" });
      assert.equal(await expireAt(scenario, now), 1);
      assert.equal(await adapter.countAhead({ jobId: next.id, cap: 10, now }), 0);
      const { groups } = await limits.listGroups({ queue, typeName, order: "waiting", limit: 5, now });
      assert.deepEqual(
        groups.map(({ group, waiting }) => [group, waiting]),
        [["a", 1]],
      );
      const [claimed] = await claim({ now });
      assert.equal(claimed?.id, next.id);
      await end(claimed, completion, now);
      assert.deepEqual(await claimIds({ now }), []);
      assert.equal(await adapter.nextRunnableIn({ requests: [{ queue, typeNames: null }], now }), null);
    }),
  );

  test(
    "an ordered group does not wait for a job that was given back and has expired",
    withLimits(async (scenario) => {
      const { start, run, end, claimIds } = scenario;
      const ordered = { group: "a", ordered: "continue" } as const;
      const first = await run(await start({ ...ordered, expireAfterMs: 1_000 }));
      await end(first, { ...release, schedule: { afterMs: 60_000 } });
      const next = await start(ordered);
      const now = baseTime + 61_000;
      assert.deepEqual(await claimIds({ now: now - 2_000 }), []);
      assert.equal(await expireAt(scenario, now), 1);
      assert.deepEqual(await claimIds({ now }), [next.id]);
    }),
  );
};
