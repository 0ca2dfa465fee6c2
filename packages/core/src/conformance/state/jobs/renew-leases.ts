import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { RenewalResult } from "../../../store/contract/claims.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const renew = async (
  { adapter }: StateScenario,
  job: StateJob,
  { now = baseTime, leaseMs = 30_000, progress }: { now?: number; leaseMs?: number; progress?: string } = {},
): Promise<RenewalResult | undefined> => {
  const lease = { jobId: job.id, leaseToken: job.leaseToken ?? "", leaseMs, progress };
  return (await adapter.renewLeases({ leases: [lease], now }))[0];
};

export const describeRenewLeases = ({ test }: StateSuite): void => {
  test("moves the end of the lease and nothing else", async (scenario) => {
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    const result = await renew(scenario, running, { now: baseTime + 999, leaseMs: 2_000 });
    assert.deepEqual(result, { kind: "renewed", leasedUntil: baseTime + 2_999 });
    assert.deepEqual(await scenario.reload(running), { ...running, leasedUntil: baseTime + 2_999 });
    assert.deepEqual(await scenario.claim({ now: baseTime + 2_998 }), []);
    assert.equal((await scenario.claim({ now: baseTime + 2_999 })).length, 1);
  });

  test("stores progress where there is some, and keeps it where there is none", async (scenario) => {
    const running = await scenario.run(await scenario.start());
    await renew(scenario, running, { progress: '{"percent":40}' });
    await renew(scenario, running);
    assert.equal((await scenario.reload(running)).progress, '{"percent":40}');
  });

  test("records that the last attempt begins, of this job only", async (scenario) => {
    const { adapter, startMany, claim, reloadAll } = scenario;
    await startMany([{}, {}]);
    await claim({ leaseMs: 1_000 });
    const now = baseTime + 2_000;
    const running = await claim({ now });
    const leases = running.map(({ id, leaseToken }, index) => ({
      jobId: id,
      leaseToken: leaseToken ?? "",
      leaseMs: 30_000,
      lastAttempt: index === 0 ? 1 : undefined,
    }));
    await adapter.renewLeases({ leases, now });
    assert.deepEqual(
      (await reloadAll(running)).map(({ attempt, expiredLeases }) => [attempt, expiredLeases]),
      [
        [1, -1],
        [2, 1],
      ],
    );
  });

  test("refuses a lease that has run out, from its very end", async (scenario) => {
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    assert.deepEqual(await renew(scenario, running, { now: baseTime + 1_000, progress: "late" }), {
      kind: "refused",
      reason: "lease_expired",
      status: "running",
      failureReason: null,
    });
    assert.deepEqual(await scenario.reload(running), running);
  });

  test("refuses a token that is not the current one", async (scenario) => {
    const running = await scenario.run(await scenario.start());
    assert.deepEqual(await renew(scenario, { ...running, leaseToken: randomUUID() }), {
      kind: "refused",
      reason: "lease_mismatch",
      status: "running",
      failureReason: null,
    });
    assert.deepEqual(await scenario.reload(running), running);
  });

  test("refuses a job that does not run, and says what became of it", async (scenario) => {
    const refusals: unknown[] = [];
    for (const ending of [completion, failure]) {
      const running = await scenario.run(await scenario.start());
      await scenario.end(running, ending);
      refusals.push(await renew(scenario, running));
    }
    refusals.push(await renew(scenario, await scenario.start()));
    const refused = { kind: "refused", reason: "not_running" };
    assert.deepEqual(refusals, [
      { ...refused, status: "completed", failureReason: null },
      { ...refused, status: "failed", failureReason: "unrecoverable" },
      { ...refused, status: "pending", failureReason: null },
    ]);
  });

  test("refuses a job that does not exist", async (scenario) => {
    const job = { ...(await scenario.run(await scenario.start())), id: randomUUID() };
    assert.deepEqual(await renew(scenario, job), {
      kind: "refused",
      reason: "not_found",
      status: null,
      failureReason: null,
    });
  });

  test("checks each lease of a batch by itself and answers in order", async (scenario) => {
    await scenario.startMany([{}, {}, {}]);
    const running = await scenario.claim({ leaseMs: 1_000 });
    const leases = running.map(({ id, leaseToken }, index) => ({
      jobId: id,
      leaseToken: index === 1 ? randomUUID() : (leaseToken ?? ""),
      leaseMs: 5_000 + index,
    }));
    const results = await scenario.adapter.renewLeases({ leases, now: baseTime });
    assert.deepEqual(results, [
      { kind: "renewed", leasedUntil: baseTime + 5_000 },
      { kind: "refused", reason: "lease_mismatch", status: "running", failureReason: null },
      { kind: "renewed", leasedUntil: baseTime + 5_002 },
    ]);
    assert.deepEqual(
      (await scenario.reloadAll(running)).map(({ leasedUntil }) => leasedUntil),
      [baseTime + 5_000, baseTime + 1_000, baseTime + 5_002],
    );
  });

  for (const leaseMs of [0, -5, Number.NaN]) {
    test(`refuses a lease of ${leaseMs} ms and renews nothing of the batch`, async (scenario) => {
      await scenario.startMany([{}, {}]);
      const running = await scenario.claim();
      const leases = running.map(({ id, leaseToken }, index) => ({
        jobId: id,
        leaseToken: leaseToken ?? "",
        leaseMs: index === 0 ? 60_000 : leaseMs,
      }));
      await assert.rejects(scenario.adapter.renewLeases({ leases, now: baseTime }), {
        code: "InvalidLeaseDuration",
      });
      assert.deepEqual(await scenario.reloadAll(running), running);
    });
  }

  test("takes an empty batch", async ({ adapter }) => {
    assert.deepEqual(await adapter.renewLeases({ leases: [], now: baseTime }), []);
  });
};
