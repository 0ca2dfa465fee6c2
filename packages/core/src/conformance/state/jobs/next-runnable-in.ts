import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import { completion } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const next = (
  { adapter, queue }: StateScenario,
  now = baseTime,
  typeNames: readonly string[] | null = null,
): Promise<number | null> => adapter.nextRunnableIn({ requests: [{ queue, typeNames }], now });

export const describeNextRunnableIn = ({ test }: StateSuite): void => {
  test("sees nothing in an empty queue or without requests", async (scenario) => {
    assert.equal(await next(scenario), null);
    await scenario.start();
    assert.equal(await scenario.adapter.nextRunnableIn({ requests: [], now: baseTime }), null);
  });

  test("is 0 when a job can be claimed now", async (scenario) => {
    await scenario.startMany([{ schedule: { afterMs: 500 } }, {}]);
    assert.equal(await next(scenario), 0);
  });

  test("is the time to the first scheduled job", async (scenario) => {
    await scenario.startMany([{ schedule: { afterMs: 900 } }, { schedule: { afterMs: 400 } }]);
    assert.equal(await next(scenario), 400);
    assert.equal(await next(scenario, baseTime + 399), 1);
    assert.equal(await next(scenario, baseTime + 400), 0);
  });

  test("is the time to the end of a lease, if that comes first", async (scenario) => {
    await scenario.run(await scenario.start(), { leaseMs: 300 });
    await scenario.start({ schedule: { afterMs: 400 } });
    assert.equal(await next(scenario), 300);
    assert.equal(await next(scenario, baseTime + 300), 0);
  });

  test("follows a renewed lease", async (scenario) => {
    const { id, leaseToken } = await scenario.run(await scenario.start(), { leaseMs: 300 });
    const leases = [{ jobId: id, leaseToken: leaseToken ?? "", leaseMs: 1_000 }];
    await scenario.adapter.renewLeases({ leases, now: baseTime });
    assert.equal(await next(scenario), 1_000);
  });

  test("does not count what no claim will find", async (scenario) => {
    const lastAttempt = await scenario.run(await scenario.start({ maxAttempts: 1 }), { leaseMs: 300 });
    await scenario.startBlocked([lastAttempt]);
    await scenario.endWorkerless(await scenario.start({ schedule: { afterMs: 50 } }), completion);
    assert.equal(await next(scenario), null);
    assert.equal(await next(scenario, baseTime + 300), null);
  });

  test("looks only at the queues and types asked for", async (scenario) => {
    const { queue, typeName, adapter } = scenario;
    await scenario.startMany([
      { queue: `${queue}-2`, schedule: { afterMs: 10 } },
      { typeName: `${typeName}-2`, schedule: { afterMs: 20 } },
      { schedule: { afterMs: 30 } },
    ]);
    assert.equal(await next(scenario), 20);
    assert.equal(await next(scenario, baseTime, [typeName]), 30);
    assert.equal(await next(scenario, baseTime, []), null);
    const requests = [
      { queue, typeNames: [typeName] },
      { queue: `${queue}-2`, typeNames: null },
    ];
    assert.equal(await adapter.nextRunnableIn({ requests, now: baseTime }), 10);
  });
};
