import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ClaimRequest } from "../../../store/contract/claims.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, retryAfter } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const claimRequests = (
  { adapter }: StateScenario,
  requests: readonly ClaimRequest[],
  limit: number,
  more: { leaseToken?: string; isRepeat?: boolean } = {},
): Promise<StateJob[]> =>
  adapter.claimJobs({
    workerId: "worker-1",
    leaseToken: randomUUID(),
    leaseMs: 30_000,
    requests,
    limit,
    now: baseTime,
    ...more,
  });

const many = (count: number, typeName?: string): { typeName?: string }[] =>
  Array.from({ length: count }, () => (typeName === undefined ? {} : { typeName }));

const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);

export const describeClaimJobs = ({ test }: StateSuite): void => {
  test("writes the lease and leaves the rest of the job alone", async ({ start, claim, reload }) => {
    const job = await start();
    const leaseToken = randomUUID();
    const claimed = await claim({ leaseToken, workerId: "worker-7", leaseMs: 20_000, now: baseTime + 50 });
    const expected = {
      ...job,
      status: "running",
      attempt: 1,
      leaseToken,
      leaseVersion: 1,
      leasedBy: "worker-7",
      leasedUntil: baseTime + 20_050,
      lastAttemptAt: baseTime + 50,
    };
    assert.deepEqual(claimed, [expected]);
    assert.deepEqual(await reload(job), expected);
  });

  test("a job's own lease duration goes before the call's", async ({ start, claim }) => {
    await start({ leaseMs: 5_000 });
    assert.equal((await claim({ leaseMs: 20_000 }))[0]?.leasedUntil, baseTime + 5_000);
  });

  test("raises attempt and version by one at every claim", async ({ start, run, end }) => {
    const job = await start();
    for (const count of [1, 2, 3]) {
      const claimed = await run(job);
      assert.deepEqual([claimed.attempt, claimed.leaseVersion], [count, count]);
      await end(claimed, retryAfter(0));
    }
  });

  test("takes a job from the moment it is scheduled for", async ({ start, claim }) => {
    const job = await start({ schedule: { afterMs: 100 } });
    assert.deepEqual(await claim({ now: baseTime + 99 }), []);
    assert.deepEqual(idsOf(await claim({ now: baseTime + 100 })), [job.id]);
  });

  test("passes over what is blocked, running or over", async (scenario) => {
    const { start, startBlocked, endWorkerless, claim } = scenario;
    const running = await start();
    await scenario.run(running);
    await startBlocked([running]);
    for (const ending of [completion, failure]) await endWorkerless(await start(), ending);
    assert.deepEqual(await claim(), []);
  });

  test("takes exactly one of fifty when asked for one", async ({ startMany, claim }) => {
    await startMany(many(50));
    assert.equal((await claim({ limit: 1 })).length, 1);
    assert.equal((await claim()).length, 49);
  });

  test("keeps to the limit of the call across requests", async (scenario) => {
    const other = `${scenario.queue}-2`;
    await scenario.startMany([...many(5), ...many(5).map(() => ({ queue: other }))]);
    const requests = [scenario.queue, other].map((queue) => ({ queue, typeNames: null, limit: 5 }));
    const claimed = await claimRequests(scenario, requests, 7);
    assert.deepEqual(
      claimed.map(({ queue }) => queue),
      [...many(5).map(() => scenario.queue), other, other],
    );
  });

  test("keeps to the limit of each request", async (scenario) => {
    const other = `${scenario.queue}-2`;
    await scenario.startMany([...many(5), ...many(5).map(() => ({ queue: other }))]);
    const claimed = await claimRequests(
      scenario,
      [
        { queue: scenario.queue, typeNames: null, limit: 2 },
        { queue: other, typeNames: null, limit: 3 },
      ],
      100,
    );
    assert.equal(claimed.filter(({ queue }) => queue === scenario.queue).length, 2);
    assert.equal(claimed.filter(({ queue }) => queue === other).length, 3);
  });

  test("takes nothing for a limit of 0 or without requests", async (scenario) => {
    await scenario.start();
    assert.deepEqual(await scenario.claim({ limit: 0 }), []);
    assert.deepEqual(await claimRequests(scenario, [], 10), []);
  });

  test("takes only the types asked for, each once however often it is named", async (scenario) => {
    const [a, b, c] = ["a", "b", "c"].map((suffix) => `${scenario.typeName}-${suffix}`);
    assert.ok(a && b && c);
    const jobs = await scenario.startMany([{ typeName: a }, { typeName: b }, { typeName: c }]);
    assert.deepEqual(await scenario.claim({ typeNames: [] }), []);
    assert.deepEqual(await scenario.claim({ typeNames: [`${a}-unknown`] }), []);
    assert.deepEqual(idsOf(await scenario.claim({ typeNames: [a, c, a] })), [jobs[0]?.id, jobs[2]?.id]);
    assert.deepEqual(idsOf(await scenario.claim({ typeNames: null })), [jobs[1]?.id]);
  });

  test("leaves other queues alone", async ({ start, claim, queue, reload }) => {
    const elsewhere = await start({ queue: `${queue}-2` });
    assert.deepEqual(await claim(), []);
    assert.deepEqual(await reload(elsewhere), elsewhere);
  });

  test("requests that overlap never share a job", async (scenario) => {
    await scenario.startMany(many(6));
    const request = { queue: scenario.queue, typeNames: null, limit: 4 };
    const claimed = await claimRequests(
      scenario,
      [request, { ...request, typeNames: [scenario.typeName] }],
      100,
    );
    assert.equal(new Set(idsOf(claimed)).size, 6);
    assert.equal(claimed.length, 6);
  });

  test("takes a running job again from the moment its lease ends, and counts that", async ({
    start,
    run,
    claim,
  }) => {
    const job = await start();
    const first = await run(job, { leaseMs: 1_000 });
    assert.deepEqual(await claim({ now: baseTime + 999 }), []);

    const leaseToken = randomUUID();
    const again = await claim({ now: baseTime + 1_000, leaseToken, workerId: "worker-2", leaseMs: 1_000 });
    const second = {
      ...first,
      attempt: 2,
      leaseToken,
      leaseVersion: 2,
      leasedBy: "worker-2",
      leasedUntil: baseTime + 2_000,
      expiredLeases: 1,
      lastFailedAt: baseTime + 1_000,
      scheduledAt: baseTime + 1_000,
      lastAttemptAt: baseTime + 1_000,
    };
    assert.deepEqual(again, [second]);
    assert.equal((await claim({ now: baseTime + 2_000 }))[0]?.expiredLeases, 2);
  });

  test("never takes a job again whose last attempt's lease ran out", async ({
    start,
    run,
    claim,
    reload,
  }) => {
    const running = await run(await start({ maxAttempts: 1 }), { leaseMs: 1_000 });
    assert.deepEqual(await claim({ now: baseTime + 10_000 }), []);
    assert.deepEqual(await reload(running), running);
  });

  test("a repeated call gets the jobs it took the first time, unchanged, and fills up", async ({
    startMany,
    claim,
  }) => {
    await startMany(many(5));
    const leaseToken = randomUUID();
    const first = await claim({ leaseToken, limit: 3 });
    const again = await claim({ leaseToken, limit: 4, isRepeat: true, now: baseTime + 1 });
    assert.equal(again.length, 4);
    const byId = (a: StateJob, b: StateJob): number => (a.id < b.id ? -1 : 1);
    assert.deepEqual(again.slice(0, 3).sort(byId), first.sort(byId));
    assert.equal(again[3]?.attempt, 1);
  });

  test("what a repeated call holds counts against the limit of its request", async (scenario) => {
    const other = `${scenario.queue}-2`;
    await scenario.startMany([...many(4), ...many(4).map(() => ({ queue: other }))]);
    const requests = [scenario.queue, other].map((queue) => ({ queue, typeNames: null, limit: 2 }));
    const leaseToken = randomUUID();
    const first = await claimRequests(scenario, requests, 100, { leaseToken });
    const again = await claimRequests(scenario, requests, 100, { leaseToken, isRepeat: true });
    assert.deepEqual(idsOf(again).sort(), idsOf(first).sort());
  });

  test("what a repeated call holds counts against the limit of the call", async (scenario) => {
    const other = `${scenario.queue}-2`;
    await scenario.startMany([...many(4), ...many(4).map(() => ({ queue: other }))]);
    const requests = [scenario.queue, other].map((queue) => ({ queue, typeNames: null, limit: 4 }));
    const leaseToken = randomUUID();
    const first = await claimRequests(scenario, requests, 3, { leaseToken });
    assert.equal(first.length, 3);
    const again = await claimRequests(scenario, requests, 3, { leaseToken, isRepeat: true });
    assert.deepEqual(idsOf(again).sort(), idsOf(first).sort());
  });

  test("a repeated call that had not been applied claims as usual", async ({ startMany, claim }) => {
    await startMany(many(2));
    assert.equal((await claim({ isRepeat: true })).length, 2);
  });

  test("a repeated call gets neither what others hold nor what is finished", async ({
    startMany,
    claim,
    end,
  }) => {
    await startMany(many(3));
    const leaseToken = randomUUID();
    const [held, finished] = await claim({ leaseToken, limit: 2 });
    assert.ok(held && finished);
    await claim({ limit: 1 });
    await end(finished, completion);
    assert.deepEqual(await claim({ leaseToken, isRepeat: true }), [held]);
  });

  test("a repeated call does not count a lease that has run out as held", async ({ start, claim }) => {
    await start();
    const leaseToken = randomUUID();
    await claim({ leaseToken, leaseMs: 1_000 });
    const again = await claim({ leaseToken, leaseMs: 1_000, isRepeat: true, now: baseTime + 1_000 });
    assert.deepEqual(
      again.map(({ attempt, leasedUntil }) => [attempt, leasedUntil]),
      [[2, baseTime + 2_000]],
    );
  });

  for (const leaseMs of [0, -1, Number.NaN]) {
    test(`refuses a lease of ${leaseMs} ms and takes nothing`, async ({ start, claim, reload }) => {
      const job = await start();
      await assert.rejects(claim({ leaseMs }), { code: "InvalidLeaseDuration" });
      assert.deepEqual(await reload(job), job);
    });
  }
};
