import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, outcomeOf, release, retryAfter } from "../../state-scenario.ts";
import type { Ending } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const later = baseTime + 700;
const applied = { kind: "applied", at: later, unblocked: [], cascaded: [] };
const withoutLease = { leasedBy: null, leasedUntil: null };

export const describeCommitOutcomes = ({ test }: StateSuite): void => {
  test("complete: stores the output, and when and by whom", async ({ start, run, end, reload }) => {
    const running = await run(await start());
    assert.deepEqual(await end(running, completion, later), applied);
    assert.deepEqual(await reload(running), {
      ...running,
      ...withoutLease,
      status: "completed",
      output: '"done"',
      completedAt: later,
      completedBy: "worker-1",
    });
  });

  test("complete with a continuation: the sequence goes on", async ({
    adapter,
    start,
    run,
    continueSequence,
    reload,
  }) => {
    const running = await run(await start());
    const next = await continueSequence(running, {}, later);
    const first = await reload(running);
    assert.equal(first.status, "completed");
    assert.equal(first.output, null);
    assert.equal(first.continuedToId, next.id);
    assert.deepEqual(await adapter.getSequences({ sequenceIds: [running.id] }), [{ first, current: next }]);
  });

  test("retry: back to pending at its time, with the error; the attempt counts", async (scenario) => {
    const { start, run, end, reload, claim } = scenario;
    const running = await run(await start());
    assert.deepEqual(await end(running, retryAfter(1_000), later), applied);
    assert.deepEqual(await reload(running), {
      ...running,
      ...withoutLease,
      status: "pending",
      scheduledAt: later + 1_000,
      lastError: "try again",
      lastFailedAt: later,
    });
    assert.deepEqual(await claim({ now: later + 999 }), []);
    assert.equal((await claim({ now: later + 1_000 }))[0]?.attempt, 2);
  });

  test("release: back to pending as if the attempt had not been", async ({
    start,
    run,
    end,
    reload,
    claim,
  }) => {
    const running = await run(await start());
    assert.deepEqual(await end(running, release, later), applied);
    assert.deepEqual(await reload(running), { ...running, ...withoutLease, status: "pending", attempt: 0 });
    const [again] = await claim({ now: later });
    assert.deepEqual([again?.attempt, again?.leaseVersion], [1, 2]);
  });

  test("release: may bring a schedule and an error, and else keeps the old ones", async ({
    start,
    run,
    end,
    reload,
  }) => {
    const job = await start();
    await end(await run(job), { kind: "release", schedule: { at: later }, error: "not now" }, baseTime);
    const put = await reload(job);
    assert.deepEqual([put.scheduledAt, put.lastError, put.attempt], [later, "not now", 0]);
    await end(await run(job, { now: later }), release, later);
    const kept = await reload(job);
    assert.deepEqual([kept.scheduledAt, kept.lastError, kept.attempt], [later, "not now", 0]);
  });

  test("fail: keeps reason, error and time", async ({ start, run, end, reload, claim }) => {
    const running = await run(await start());
    assert.deepEqual(await end(running, failure, later), applied);
    assert.deepEqual(await reload(running), {
      ...running,
      ...withoutLease,
      status: "failed",
      failedAt: later,
      failureReason: "unrecoverable",
      lastError: "broken",
      lastFailedAt: later,
    });
    assert.deepEqual(await claim({ now: later + 1_000_000 }), []);
  });

  test("retry and fail end a run of expired leases, release keeps it", async ({
    start,
    run,
    end,
    reload,
  }) => {
    const expiredLeasesAfter = async (ending: Ending): Promise<number> => {
      const job = await start();
      await run(job, { leaseMs: 10 });
      const again = await run(job, { now: baseTime + 10 });
      assert.equal(again.expiredLeases, 1);
      await end(again, ending, baseTime + 20);
      return (await reload(job)).expiredLeases;
    };
    assert.equal(await expiredLeasesAfter(retryAfter(1_000_000)), 0);
    assert.equal(await expiredLeasesAfter({ ...release, schedule: { afterMs: 1_000_000 } }), 1);
    assert.equal(await expiredLeasesAfter(failure), 0);
  });

  test("a last attempt that had begun and is released is still to come", async (scenario) => {
    const { adapter, start, run, end, reload } = scenario;
    const job = await start({ maxAttempts: 2 });
    await run(job, { leaseMs: 10 });
    const now = baseTime + 10;
    const begun = await run(job, { now });
    const lease = { jobId: job.id, leaseToken: begun.leaseToken ?? "", leaseMs: 1_000, lastAttempt: 2 };
    // Twice, as after a lost reply.
    for (let time = 0; time < 2; time += 1) await adapter.renewLeases({ leases: [lease], now });
    assert.equal((await reload(job)).expiredLeases, -1);
    await end(begun, release, now);
    const { attempt, expiredLeases } = await reload(job);
    assert.deepEqual([attempt, expiredLeases], [1, 1]);
  });

  test("workerless: completes what is pending, blocked or running", async (scenario) => {
    const { start, startBlocked, run, endWorkerless, reload } = scenario;
    const blocker = await start({ schedule: { afterMs: 1_000_000 } });
    const running = await run(await start());
    for (const job of [await startBlocked([blocker]), running, blocker]) {
      const result = await endWorkerless(job, { ...completion, completedBy: null }, later);
      assert.equal(result.kind, "applied");
      const completed = await reload(job);
      assert.deepEqual(
        [
          completed.status,
          completed.output,
          completed.completedBy,
          completed.leasedBy,
          completed.leasedUntil,
        ],
        ["completed", '"done"', null, null, null],
      );
    }
  });

  test("workerless: a job that waits for blockers goes on waiting after a retry or when given back", async ({
    start,
    startBlocked,
    endWorkerless,
    reload,
  }) => {
    for (const ending of [retryAfter(0), release]) {
      const blocked = await startBlocked([await start()]);
      await endWorkerless(blocked, ending, later);
      const { status, openBlockers } = await reload(blocked);
      assert.deepEqual({ status, openBlockers }, { status: "blocked", openBlockers: 1 });
    }
  });

  test("records each outcome of a batch by itself and answers in order", async (scenario) => {
    await scenario.startMany([{}, {}, {}, {}]);
    const [one, two, three, four] = await scenario.claim();
    assert.ok(one && two && three && four);
    const results = await scenario.adapter.commitOutcomes({
      outcomes: [
        outcomeOf(four, failure),
        outcomeOf({ ...two, leaseToken: randomUUID() }, completion),
        outcomeOf(one, completion),
        outcomeOf({ ...one, id: randomUUID() }, completion),
        outcomeOf(three, retryAfter(5)),
      ],
      now: later,
    });
    assert.deepEqual(
      results.map((result) => (result.kind === "refused" ? result.reason : result.kind)),
      ["applied", "lease_mismatch", "applied", "not_found", "applied"],
    );
    assert.deepEqual(
      (await scenario.reloadAll([one, two, three, four])).map(({ status }) => status),
      ["completed", "running", "pending", "failed"],
    );
  });

  test("an outcome sees what an earlier one of its batch has done to other jobs", async (scenario) => {
    const { adapter, start, startBlocked, run, reload } = scenario;
    const blocker = await start();
    const blocked = await startBlocked([blocker]);
    const running = await run(blocker);
    const [first, second] = await adapter.commitOutcomes({
      outcomes: [outcomeOf(running, failure), { ...completion, jobId: blocked.id, leaseToken: null }],
      now: later,
    });
    assert.equal(first?.kind, "applied");
    assert.deepEqual(second, {
      kind: "refused",
      reason: "not_running",
      status: "failed",
      failureReason: "blocker_failed",
    });
    assert.equal((await reload(blocked)).status, "failed");
  });

  test("takes a large batch", async ({ adapter, startMany, claim, reloadAll }) => {
    await startMany(Array.from({ length: 500 }, () => ({})));
    const running = await claim({ limit: 500 });
    const outcomes = running.map((job, index) => outcomeOf(job, { ...completion, output: `${index}` }));
    const results = await adapter.commitOutcomes({ outcomes, now: later });
    assert.ok(results.every(({ kind }) => kind === "applied"));
    assert.deepEqual(
      (await reloadAll(running)).map(({ output }) => output),
      running.map((_, index) => `${index}`),
    );
  });

  test("takes an empty batch", async ({ adapter }) => {
    assert.deepEqual(await adapter.commitOutcomes({ outcomes: [], now: later }), []);
  });
};
