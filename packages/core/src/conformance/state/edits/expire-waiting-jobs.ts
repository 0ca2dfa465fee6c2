import assert from "node:assert/strict";
import type { ExpiredJob } from "../../../store/contract/edits.ts";
import { requirePart } from "../../../store/parts.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, release, retryAfter, type StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const expireAt = ({ adapter }: StateScenario, now: number, limit = 100): Promise<ExpiredJob[]> =>
  requirePart(adapter, "edits", "expireWaitingJobs").expireWaitingJobs({ limit, error: "too late", now });

const idsOf = (expired: readonly ExpiredJob[]): string[] => expired.map(({ job }) => job.id);

export const describeExpireWaitingJobs = ({ testAlone: test }: StateSuite): void => {
  test("fails a job that has waited too long, and who waits for it", async (scenario) => {
    const job = await scenario.start({ expireAfterMs: 1_000 });
    const dependant = await scenario.startBlocked([job]);
    assert.deepEqual(await expireAt(scenario, baseTime + 999), []);
    const [expired, ...others] = await expireAt(scenario, baseTime + 1_000);
    assert.deepEqual(others, []);
    assert.deepEqual(expired?.job, {
      ...job,
      status: "failed",
      failedAt: baseTime + 1_000,
      failureReason: "expired",
      lastError: "too late",
    });
    assert.deepEqual(
      expired.cascaded.map(({ id }) => id),
      [dependant.id],
    );
    assert.deepEqual(await scenario.reload(job), expired.job);
    assert.equal((await scenario.reload(dependant)).failureReason, "blocker_failed");
    assert.deepEqual(await scenario.claim({ now: baseTime + 1_000 }), []);
    assert.deepEqual(await expireAt(scenario, baseTime + 2_000), []);
  });

  test("leaves alone who has no such limit", async (scenario) => {
    await scenario.start();
    assert.deepEqual(await expireAt(scenario, baseTime + 1_000_000), []);
  });

  test("the time begins when the job can run: as scheduled", async (scenario) => {
    const job = await scenario.start({ expireAfterMs: 1_000, schedule: { afterMs: 5_000 } });
    assert.deepEqual(await expireAt(scenario, baseTime + 5_999), []);
    assert.deepEqual(idsOf(await expireAt(scenario, baseTime + 6_000)), [job.id]);
  });

  test("the time begins when the job can run: when its last blocker has completed", async (scenario) => {
    const blocker = await scenario.start();
    const job = await scenario.startBlocked([blocker], { expireAfterMs: 1_000 });
    assert.deepEqual(await expireAt(scenario, baseTime + 60_000), []);
    await scenario.endWorkerless(blocker, completion, baseTime + 60_000);
    assert.deepEqual(await expireAt(scenario, baseTime + 60_999), []);
    assert.deepEqual(idsOf(await expireAt(scenario, baseTime + 61_000)), [job.id]);
  });

  test("a job that has begun does not expire, neither running nor as a retry", async (scenario) => {
    const job = await scenario.start({ expireAfterMs: 1_000 });
    const running = await scenario.run(job);
    assert.deepEqual(await expireAt(scenario, baseTime + 10_000), []);
    await scenario.end(running, retryAfter(0));
    assert.deepEqual(await expireAt(scenario, baseTime + 10_000), []);
    assert.equal((await scenario.run(job, { now: baseTime + 10_000 })).attempt, 2);
  });

  test("a job that was given back has not begun", async (scenario) => {
    const job = await scenario.start({ expireAfterMs: 1_000 });
    await scenario.end(await scenario.run(job), release);
    assert.deepEqual(idsOf(await expireAt(scenario, baseTime + 1_000)), [job.id]);
  });

  test("a redrive gives it the whole time again", async (scenario) => {
    const job = await scenario.start({ expireAfterMs: 1_000 });
    await expireAt(scenario, baseTime + 1_000);
    await scenario.adapter.redriveJobs({ jobIds: [job.id], now: baseTime + 5_000 });
    assert.deepEqual(await expireAt(scenario, baseTime + 5_999), []);
    assert.deepEqual(idsOf(await expireAt(scenario, baseTime + 6_000)), [job.id]);
  });

  test("its deduplication key is free again", async (scenario) => {
    const deduplication = { key: "key", scope: "unfinished", windowMs: null } as const;
    await scenario.start({ expireAfterMs: 1_000, deduplication });
    await expireAt(scenario, baseTime + 1_000);
    const [again] = await scenario.adapter.createJobs({
      jobs: [scenario.newJob({ deduplication })],
      now: baseTime + 1_000,
    });
    assert.equal(again?.deduplicated, false);
  });

  test("jobs that have begun do not use up the limit", async (scenario) => {
    await scenario.run(await scenario.start({ expireAfterMs: 100 }));
    const late = await scenario.start({ expireAfterMs: 200 });
    assert.deepEqual(idsOf(await expireAt(scenario, baseTime + 1_000, 1)), [late.id]);
  });

  test("takes at most as many as asked for, those first that expired first", async (scenario) => {
    const jobs = await scenario.startMany([5, 1, 4, 2, 3].map((ms) => ({ expireAfterMs: ms * 100 })));
    assert.deepEqual(idsOf(await expireAt(scenario, baseTime + 1_000, 2)), [jobs[1]!.id, jobs[3]!.id]);
    assert.equal((await expireAt(scenario, baseTime + 1_000, 10)).length, 3);
  });

  test("an expiry that is rolled back has not happened", async (scenario) => {
    const { adapter } = scenario;
    const job = await scenario.start({ expireAfterMs: 1_000 });
    const now = baseTime + 1_000;
    await assert.rejects(
      adapter.runInTransaction(async (ctx) => {
        const edits = requirePart(adapter, "edits", "expireWaitingJobs");
        await edits.expireWaitingJobs({ limit: 1, error: "too late", now, ctx });
        throw new Error("changed my mind");
      }),
      /changed my mind/,
    );
    assert.deepEqual(await scenario.reload(job), job);
    assert.deepEqual(idsOf(await expireAt(scenario, now)), [job.id]);
  });

  test("beside claims, a job expires or is claimed, never both", async (scenario) => {
    const jobs = await scenario.startMany(Array.from({ length: 40 }, () => ({ expireAfterMs: 1_000 })));
    const now = baseTime + 1_000;
    const [expired, claimed] = await Promise.all([
      Promise.all(Array.from({ length: 4 }, () => expireAt(scenario, now, 10))),
      Promise.all(Array.from({ length: 4 }, () => scenario.claim({ now, limit: 10 }))),
    ]);
    const rest = await expireAt(scenario, now);
    const ids = [...idsOf([...expired.flat(), ...rest]), ...claimed.flat().map(({ id }) => id)];
    assert.equal(ids.length, jobs.length);
    assert.equal(new Set(ids).size, jobs.length);
  }, 60_000);
};
