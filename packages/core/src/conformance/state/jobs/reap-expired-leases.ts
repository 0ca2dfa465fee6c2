import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";

export const describeReapExpiredLeases = ({ testAlone: test }: StateSuite): void => {
  test("puts a job back as if scheduled for the end of its lease", async ({
    adapter,
    start,
    run,
    reload,
  }) => {
    const running = await run(await start(), { leaseMs: 1_000, workerId: "dead" });
    const reaped = await adapter.reapExpiredLeases({ limit: 10, error: "expired", now: baseTime + 5_000 });
    const expected = {
      ...running,
      status: "pending",
      scheduledAt: baseTime + 1_000,
      leaseToken: null,
      leasedBy: null,
      leasedUntil: null,
      expiredLeases: 1,
      lastFailedAt: baseTime + 1_000,
    };
    assert.deepEqual(reaped, [{ job: expected, previouslyLeasedBy: "dead", cascaded: [] }]);
    assert.deepEqual(await reload(running), expected);
  });

  test("fails a job that has no attempt left, and who waits for it", async (scenario) => {
    const { adapter, start, run, startBlocked, reload } = scenario;
    const running = await run(await start({ maxAttempts: 1 }), { leaseMs: 1_000, workerId: "dead" });
    const waiting = await startBlocked([running]);
    const [reaped, ...others] = await adapter.reapExpiredLeases({
      limit: 10,
      error: "expired",
      now: baseTime + 5_000,
    });
    assert.deepEqual(others, []);
    assert.deepEqual(reaped?.job, {
      ...running,
      status: "failed",
      leaseToken: null,
      leasedBy: null,
      leasedUntil: null,
      expiredLeases: 1,
      lastFailedAt: baseTime + 1_000,
      failedAt: baseTime + 5_000,
      failureReason: "attempts_exhausted",
      lastError: "expired",
    });
    assert.deepEqual(
      reaped.cascaded.map(({ id }) => id),
      [waiting.id],
    );
    assert.deepEqual(await reload(running), reaped.job);
    assert.equal((await reload(waiting)).failureReason, "blocker_failed");
  });

  test("takes a lease from its very end", async ({ adapter, start, run, reload }) => {
    const running = await run(await start(), { leaseMs: 1_000 });
    const call = { limit: 10, error: "expired" };
    assert.deepEqual(await adapter.reapExpiredLeases({ ...call, now: baseTime + 999 }), []);
    assert.deepEqual(await reload(running), running);
    assert.equal((await adapter.reapExpiredLeases({ ...call, now: baseTime + 1_000 })).length, 1);
  });

  test("keeps to the limit and gets through all, of any queue and type", async (scenario) => {
    const { adapter, startMany, claim, queue, typeName } = scenario;
    await startMany(Array.from({ length: 25 }, (_, index) => ({ maxAttempts: 1 + (index % 2) })));
    await startMany([{ queue: `${queue}-2`, typeName: `${typeName}-2` }]);
    await claim({ leaseMs: 1_000 });
    await claim({ leaseMs: 1_000, queue: `${queue}-2` });
    const sizes: number[] = [];
    const ids = new Set<string>();
    for (let size = -1; size !== 0;) {
      const reaped = await adapter.reapExpiredLeases({ limit: 10, error: "expired", now: baseTime + 2_000 });
      size = reaped.length;
      sizes.push(size);
      for (const { job } of reaped) ids.add(job.id);
    }
    assert.deepEqual(sizes, [10, 10, 6, 0]);
    assert.equal(ids.size, 26);
  });

  test("leaves a renewed lease alone", async ({ adapter, start, run, reload }) => {
    const { id, leaseToken } = await run(await start(), { leaseMs: 1_000 });
    const leases = [{ jobId: id, leaseToken: leaseToken ?? "", leaseMs: 10_000 }];
    await adapter.renewLeases({ leases, now: baseTime + 500 });
    assert.deepEqual(
      await adapter.reapExpiredLeases({ limit: 10, error: "expired", now: baseTime + 5_000 }),
      [],
    );
    assert.equal((await reload({ id })).status, "running");
  });

  test("a reaped job runs again, with the expiry on its record", async ({ adapter, start, run }) => {
    const job = await start();
    await run(job, { leaseMs: 1_000 });
    await adapter.reapExpiredLeases({ limit: 10, error: "expired", now: baseTime + 2_000 });
    const again = await run(job, { now: baseTime + 2_000 });
    assert.deepEqual([again.attempt, again.leaseVersion, again.expiredLeases], [2, 2, 1]);
  });

  test("does not count a last attempt after an expired lease until it has begun", async (scenario) => {
    const { adapter, start, run, reload } = scenario;
    const job = await start({ maxAttempts: 2 });
    const reap = async (now: number) =>
      (await adapter.reapExpiredLeases({ limit: 10, error: "expired", now }))[0]?.job;
    await run(job, { leaseMs: 1_000 });
    await reap(baseTime + 2_000);
    for (const round of [1, 2]) {
      const now = baseTime + 2_000 * round;
      const suspect = await run(job, { now, leaseMs: 1_000 });
      assert.deepEqual([suspect.attempt, suspect.expiredLeases], [1 + round, round]);
      const reaped = await reap(now + 2_000);
      assert.deepEqual(reaped, {
        ...suspect,
        status: "pending",
        scheduledAt: now + 1_000,
        leaseToken: null,
        leasedBy: null,
        leasedUntil: null,
        expiredLeases: round + 1,
        lastFailedAt: now + 1_000,
      });
      assert.deepEqual(await reload(job), reaped);
    }
    const now = baseTime + 6_000;
    const begun = await run(job, { now, leaseMs: 1_000 });
    const lease = { jobId: job.id, leaseToken: begun.leaseToken ?? "", leaseMs: 1_000, lastAttempt: 2 };
    await adapter.renewLeases({ leases: [lease], now: now + 500 });
    const failed = await reap(now + 2_000);
    assert.deepEqual(
      [failed?.status, failed?.failureReason, failed?.attempt, failed?.expiredLeases],
      ["failed", "attempts_exhausted", 2, -2],
    );
  });

  test("a last attempt by the limit of a worker is none by that of the job", async (scenario) => {
    const { adapter, start, run } = scenario;
    const job = await start({ maxAttempts: 3 });
    await run(job, { leaseMs: 1_000 });
    const now = baseTime + 1_000;
    const { leaseToken } = await run(job, { now, leaseMs: 1_000 });
    const lease = { jobId: job.id, leaseToken: leaseToken ?? "", leaseMs: 1_000, lastAttempt: 2 };
    await adapter.renewLeases({ leases: [lease], now });
    const [reaped] = await adapter.reapExpiredLeases({ limit: 10, error: "expired", now: now + 1_000 });
    assert.deepEqual([reaped?.job.status, reaped?.job.attempt], ["pending", 2]);
  });

  test("fails a job in the end whose last attempt never begins", async ({ adapter, start, run }) => {
    const job = await start({ maxAttempts: 2 });
    let status = "pending";
    let claims = 0;
    for (let now = baseTime; status === "pending" && claims < 100; now += 2_000) {
      await run(job, { now, leaseMs: 1_000 });
      claims += 1;
      const [reaped] = await adapter.reapExpiredLeases({ limit: 10, error: "expired", now: now + 1_000 });
      status = reaped?.job.status ?? "running";
    }
    assert.equal(status, "failed");
    assert.ok(claims > 5, `failed after ${claims} claims`);
  });
};
