import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, release, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const leaseMs = 1_000;
const afterLease = baseTime + 5_000;
const reaping = { limit: 10, error: "expired", now: afterLease };

export const describeAttempts = ({ test, testAlone }: StateSuite): void => {
  test("when an attempt failed stays known after a retry, and after the job has completed", async (scenario) => {
    const job = await scenario.start();
    assert.equal(job.lastFailedAt, null);
    const running = await scenario.run(job);
    assert.equal(running.lastFailedAt, null);
    await scenario.end(running, retryAfter(100), baseTime + 7);
    assert.equal((await scenario.reload(job)).lastFailedAt, baseTime + 7);
    const again = await scenario.run(job, { now: baseTime + 200 });
    assert.equal(again.lastFailedAt, baseTime + 7);
    await scenario.end(again, completion, baseTime + 300);
    assert.equal((await scenario.reload(job)).lastFailedAt, baseTime + 7);
  });

  test("a job that fails for good failed last at that moment, and still does when it is redriven", async (scenario) => {
    const job = await scenario.start();
    await scenario.end(await scenario.run(job), failure, baseTime + 9);
    const { failedAt, lastFailedAt } = await scenario.reload(job);
    assert.deepEqual([failedAt, lastFailedAt], [baseTime + 9, baseTime + 9]);
    await scenario.adapter.redriveJobs({ jobIds: [job.id], now: baseTime + 50 });
    assert.equal((await scenario.reload(job)).lastFailedAt, baseTime + 9);
  });

  test("an attempt that completes, or that is given back, has not failed", async (scenario) => {
    const job = await scenario.start();
    await scenario.end(await scenario.run(job), release, baseTime + 5);
    assert.equal((await scenario.reload(job)).lastFailedAt, null);
    await scenario.end(await scenario.run(job), completion, baseTime + 6);
    assert.equal((await scenario.reload(job)).lastFailedAt, null);
  });

  test("an attempt whose lease runs out has failed at that moment, for whoever claims the job next", async (scenario) => {
    const job = await scenario.start();
    await scenario.run(job, { leaseMs });
    assert.equal((await scenario.run(job, { now: afterLease })).lastFailedAt, baseTime + leaseMs);
    assert.equal((await scenario.reload(job)).lastFailedAt, baseTime + leaseMs);
  });

  testAlone("the reaper says so, too, whether attempts are left or not", async (scenario) => {
    await scenario.startMany([{ maxAttempts: 1 }, { maxAttempts: 2 }]);
    await scenario.claim({ leaseMs });
    const reaped = await scenario.adapter.reapExpiredLeases(reaping);
    assert.deepEqual(new Set(reaped.map(({ job }) => job.status)), new Set(["failed", "pending"]));
    for (const { job } of reaped) assert.equal(job.lastFailedAt, baseTime + leaseMs);
  });

  test("whether somebody asked for the number of attempts is kept; not saying so means yes", async (scenario) => {
    const jobs = await scenario.startMany([{}, { maxAttemptsGiven: true }, { maxAttemptsGiven: false }]);
    const given = (found: typeof jobs): boolean[] => found.map(({ maxAttemptsGiven }) => maxAttemptsGiven);
    assert.deepEqual(given(jobs), [true, true, false]);
    assert.deepEqual(given(await scenario.reloadAll(jobs)), [true, true, false]);
    assert.deepEqual(given(await scenario.claim()), [true, true, false]);
  });

  test("a claim that allows more attempts takes a job whose last one was lost, if nobody asked for a number", async (scenario) => {
    const [asked, byDefault] = await scenario.startMany([
      { maxAttempts: 1 },
      { maxAttempts: 1, maxAttemptsGiven: false },
    ]);
    await scenario.claim({ leaseMs });
    const requests = [{ queue: scenario.queue, typeNames: [scenario.typeName], limit: 5 }];
    const call = { requests, now: afterLease, maxAttempts: { [scenario.typeName]: 2 } };
    assert.equal(await scenario.adapter.nextRunnableIn({ ...call, maxAttempts: undefined }), null);
    assert.equal(await scenario.adapter.nextRunnableIn(call), 0);

    const claim = { workerId: "worker-2", leaseToken: "another", leaseMs, limit: 5 };
    assert.deepEqual(await scenario.adapter.claimJobs({ ...call, ...claim, maxAttempts: undefined }), []);
    const claimed = await scenario.adapter.claimJobs({ ...call, ...claim });
    assert.deepEqual(
      claimed.map(({ id, attempt, maxAttempts }) => [id, attempt, maxAttempts]),
      [[byDefault!.id, 2, 1]],
    );
    assert.equal((await scenario.reload(asked!)).attempt, 1);
    assert.equal(await scenario.adapter.nextRunnableIn({ ...call, now: afterLease + leaseMs }), null);
  });

  test("a claim that allows fewer leaves such a job to the reaper, and is not told to hurry for it", async (scenario) => {
    const [asked, byDefault] = await scenario.startMany([{}, { maxAttemptsGiven: false }]);
    await scenario.claim({ leaseMs });
    const maxAttempts = { [scenario.typeName]: 1, constructor: 1 };
    const requests = [{ queue: scenario.queue, typeNames: null, limit: 5 }];
    const claim = { workerId: "worker-2", leaseToken: "another", leaseMs, limit: 5, maxAttempts, requests };
    const claimed = await scenario.adapter.claimJobs({ ...claim, now: afterLease });
    assert.deepEqual(
      claimed.map(({ id }) => id),
      [asked!.id],
    );
    assert.equal(await scenario.adapter.nextRunnableIn({ requests, maxAttempts, now: afterLease }), leaseMs);
    // One that says nothing about it goes by what is stored.
    const others = await scenario.claim({ now: afterLease });
    assert.deepEqual(
      others.map(({ id }) => id),
      [byDefault!.id],
    );
  });

  testAlone("the reaper goes by the number it is given, where nobody asked for another", async (scenario) => {
    const { typeName } = scenario;
    await scenario.startMany([
      { input: "asked for 1", maxAttempts: 1 },
      { input: "default 1", maxAttempts: 1, maxAttemptsGiven: false },
      { input: "asked for 4" },
      { input: "default 4", typeName: `${typeName}-2`, maxAttemptsGiven: false },
      { input: "default 1, unnamed", typeName: "constructor", maxAttempts: 1, maxAttemptsGiven: false },
    ]);
    await scenario.claim({ leaseMs });
    const maxAttempts = { [typeName]: 3, [`${typeName}-2`]: 1 };
    const reaped = await scenario.adapter.reapExpiredLeases({ ...reaping, maxAttempts });
    const statuses = Object.fromEntries(reaped.map(({ job }) => [job.input, job.status]));
    assert.deepEqual(statuses, {
      "asked for 1": "failed",
      "default 1": "pending",
      "asked for 4": "pending",
      "default 4": "failed",
      "default 1, unnamed": "failed",
    });
  });
};
