import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";

export const describeTime = ({ test }: StateSuite): void => {
  test("getTime answers with the given now", async ({ adapter }) => {
    assert.equal(await adapter.getTime({ now: baseTime + 17 }), baseTime + 17);
    assert.equal(await adapter.runInTransaction((ctx) => adapter.getTime({ ctx, now: baseTime })), baseTime);
  });

  test("without a given now, calls go by the clock that getTime shows", async ({
    adapter,
    newJob,
    queue,
  }) => {
    const before = await adapter.getTime();
    const [created] = await adapter.createJobs({ jobs: [newJob({ schedule: { afterMs: 0 } })] });
    const leaseToken = randomUUID();
    const requests = [{ queue, typeNames: null, limit: 1 }];
    const [claimed] = await adapter.claimJobs({
      workerId: "w",
      leaseToken,
      leaseMs: 60_000,
      requests,
      limit: 1,
    });
    const after = await adapter.getTime();
    assert.ok(created && claimed && Number.isInteger(before));
    assert.ok(before <= created.job.createdAt && created.job.createdAt <= after);
    assert.ok(claimed.leasedUntil !== null);
    assert.ok(before + 60_000 <= claimed.leasedUntil && claimed.leasedUntil <= after + 60_000);
  });

  test("time may go back between calls: what was due is then not yet", async ({
    adapter,
    queue,
    start,
    claim,
  }) => {
    const job = await start({ schedule: { afterMs: 100 } });
    const requests = [{ queue, typeNames: null }];
    assert.equal(await adapter.nextRunnableIn({ requests, now: baseTime + 200 }), 0);
    assert.deepEqual(await claim({ now: baseTime + 50 }), []);
    assert.equal(await adapter.nextRunnableIn({ requests, now: baseTime + 50 }), 50);
    assert.equal((await claim({ now: baseTime + 100 }))[0]?.id, job.id);
  });

  test("time may go back between calls: a lease that had run out holds again", async (scenario) => {
    const { adapter, queue, start, run, claim } = scenario;
    const running = await run(await start(), { leaseMs: 100 });
    const requests = [{ queue, typeNames: null }];
    assert.equal(await adapter.nextRunnableIn({ requests, now: baseTime + 200 }), 0);
    assert.deepEqual(await claim({ now: baseTime + 50 }), []);
    const leases = [{ jobId: running.id, leaseToken: running.leaseToken ?? "", leaseMs: 100 }];
    const [renewed] = await adapter.renewLeases({ leases, now: baseTime + 50 });
    assert.equal(renewed?.kind, "renewed");
    assert.deepEqual(await claim({ now: baseTime + 149 }), []);
    assert.equal((await claim({ now: baseTime + 150 })).length, 1);
  });
};
