import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { RedriveResult } from "../../../store/contract/outcomes.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime, newJob } from "../../state-fixture.ts";
import { completion, failure, outcomeOf, retryAfter } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const later = baseTime + 5_000;

const redrive = async (
  { adapter }: StateScenario,
  ...jobs: readonly { id: string }[]
): Promise<RedriveResult[]> => adapter.redriveJobs({ jobIds: jobs.map(({ id }) => id), now: later });

const kindsOf = (results: readonly RedriveResult[]): string[] => results.map(({ kind }) => kind);

export const describeRedriveJobs = ({ test }: StateSuite): void => {
  test("makes a failed job pending now, with all its attempts", async (scenario) => {
    const job = await scenario.start({ maxAttempts: 3 });
    await scenario.end(await scenario.run(job), retryAfter(0));
    await scenario.run(job, { leaseMs: 10 });
    const running = await scenario.run(job, { now: baseTime + 10 });
    await scenario.end(running, failure, baseTime + 20);

    const [result] = await redrive(scenario, job);
    const after = await scenario.reload(job);
    assert.deepEqual(result, { jobId: job.id, kind: "redriven", job: after, revived: [] });
    const { leaseToken: _token, ...rest } = after;
    const { leaseToken: _runningToken, ...expected } = {
      ...running,
      status: "pending",
      scheduledAt: later,
      attempt: 0,
      leasedBy: null,
      leasedUntil: null,
      expiredLeases: 0,
      lastError: after.lastError,
      lastFailedAt: baseTime + 20,
    };
    assert.deepEqual(rest, expected);

    const again = await scenario.run(job, { now: later });
    assert.deepEqual([again.attempt, again.leaseVersion], [1, 4]);
  });

  test("lets no job run before the time it is given", async (scenario) => {
    const [atOnce, atMoment, afterDelay, past] = await scenario.startMany([{}, {}, {}, {}]);
    assert.ok(atOnce && atMoment && afterDelay && past);
    for (const job of [atOnce, atMoment, afterDelay, past])
      await scenario.end(await scenario.run(job), failure);
    const { adapter } = scenario;
    await redrive(scenario, atOnce);
    await adapter.redriveJobs({ jobIds: [atMoment.id], now: later, schedule: { at: later + 60_000 } });
    await adapter.redriveJobs({ jobIds: [afterDelay.id], now: later, schedule: { afterMs: 60_000 } });
    await adapter.redriveJobs({ jobIds: [past.id], now: later, schedule: { at: baseTime } });
    const scheduledAt = async (job: { id: string }): Promise<number> =>
      (await scenario.reload(job)).scheduledAt;
    assert.equal(await scheduledAt(atMoment), later + 60_000);
    assert.equal(await scheduledAt(afterDelay), later + 60_000);
    assert.equal(await scheduledAt(past), later);
    const claimedAt = async (now: number): Promise<string[]> => {
      const jobs = await scenario.claim({ now, limit: 10 });
      return jobs.map(({ id }) => id).sort();
    };
    assert.deepEqual(await claimedAt(later + 59_999), [atOnce.id, past.id].sort());
    assert.deepEqual(await claimedAt(later + 60_000), [atMoment.id, afterDelay.id].sort());
  });

  test("answers for each job, in order, and leaves alone what has not failed", async (scenario) => {
    const [pending, completed, failed] = await scenario.startMany([{}, {}, {}]);
    assert.ok(pending && completed && failed);
    await scenario.endWorkerless(completed, completion);
    await scenario.endWorkerless(failed, failure);
    const before = await scenario.reloadAll([pending, completed]);
    const results = await redrive(scenario, completed, { id: randomUUID() }, failed, pending);
    assert.deepEqual(kindsOf(results), ["not_failed", "not_found", "redriven", "not_failed"]);
    assert.deepEqual(
      results.map(({ job }) => job?.id ?? null),
      [completed.id, null, failed.id, pending.id],
    );
    assert.deepEqual(await scenario.reloadAll([pending, completed]), before);
  });

  test("revives what the failure took along, all the way", async (scenario) => {
    const blocker = await scenario.start();
    const middle = await scenario.startBlocked([blocker]);
    const end = await scenario.startBlocked([middle]);
    await scenario.endWorkerless(blocker, failure);
    const [result] = await redrive(scenario, blocker);
    assert.deepEqual(result?.revived.map(({ id }) => id).sort(), [middle.id, end.id].sort());
    for (const job of [middle, end]) {
      const { lastError, ...rest } = await scenario.reload(job);
      const { lastError: _none, ...expected } = { ...job, scheduledAt: later };
      assert.deepEqual(rest, expected);
      assert.match(lastError ?? "", /BlockerFailedError/);
    }
  });

  test("the revived run when their blocker completes", async (scenario) => {
    const blocker = await scenario.start();
    const job = await scenario.startBlocked([blocker]);
    await scenario.endWorkerless(blocker, failure);
    await redrive(scenario, blocker);
    await scenario.endWorkerless(blocker, completion, later);
    assert.equal((await scenario.reload(job)).status, "pending");
  });

  test("does not revive what another failure still holds down, until that one is redriven too", async (scenario) => {
    const [one, two] = await scenario.startMany([{}, {}]);
    assert.ok(one && two);
    const job = await scenario.startBlocked([one, two]);
    await scenario.endWorkerless(one, failure);
    await scenario.endWorkerless(two, failure);
    const [first] = await redrive(scenario, one);
    assert.deepEqual(first?.revived, []);
    assert.equal((await scenario.reload(job)).status, "failed");
    const [second] = await redrive(scenario, two);
    assert.deepEqual(
      second?.revived.map(({ id }) => id),
      [job.id],
    );
    assert.equal((await scenario.reload(job)).status, "blocked");
  });

  test("does not revive what failed for a reason of its own", async (scenario) => {
    const blocker = await scenario.start();
    const cancelled = await scenario.startBlocked([blocker]);
    await scenario.cancel(cancelled);
    await scenario.endWorkerless(blocker, failure);
    const before = await scenario.reload(cancelled);
    assert.deepEqual((await redrive(scenario, blocker))[0]?.revived, []);
    assert.deepEqual(await scenario.reload(cancelled), before);
  });

  test("counts blockers that completed while the job was failed", async (scenario) => {
    const [done, open] = await scenario.startMany([{}, {}]);
    assert.ok(done && open);
    const job = await scenario.startBlocked([done, open]);
    await scenario.cancel(job);
    await scenario.endWorkerless(done, completion);
    await redrive(scenario, job);
    const blocked = await scenario.reload(job);
    assert.deepEqual([blocked.status, blocked.openBlockers], ["blocked", 1]);
    await scenario.endWorkerless(open, completion, later);
    assert.equal((await scenario.reload(job)).status, "pending");
  });

  test("makes a job pending whose blockers have all completed meanwhile", async (scenario) => {
    const blocker = await scenario.start();
    const job = await scenario.startBlocked([blocker]);
    await scenario.cancel(job);
    await scenario.endWorkerless(blocker, completion);
    await redrive(scenario, job);
    assert.equal((await scenario.run(job, { now: later })).attempt, 1);
  });

  test("refuses a job whose blocker is still failed", async (scenario) => {
    const blocker = await scenario.start();
    const job = await scenario.startBlocked([blocker]);
    await scenario.endWorkerless(blocker, failure);
    const before = await scenario.reload(job);
    assert.deepEqual(await redrive(scenario, job), [
      { jobId: job.id, kind: "blocker_failed", job: before, revived: [] },
    ]);
    assert.deepEqual(await scenario.reload(job), before);
  });

  test("a job redriven together with its blocker comes back, whichever is named first", async (scenario) => {
    for (const reverse of [false, true]) {
      const blocker = await scenario.start();
      const job = await scenario.startBlocked([blocker]);
      await scenario.endWorkerless(blocker, failure);
      const jobs = reverse ? [job, blocker] : [blocker, job];
      assert.deepEqual(kindsOf(await redrive(scenario, ...jobs)), ["redriven", "redriven"]);
      assert.equal((await scenario.reload(blocker)).status, "pending");
      assert.equal((await scenario.reload(job)).status, "blocked");
    }
  });

  test('a job with onBlockerFailure "wait" can wait again for a failed blocker', async (scenario) => {
    const blocker = await scenario.start();
    const job = await scenario.startBlocked([blocker], { onBlockerFailure: "wait" });
    await scenario.endWorkerless(blocker, failure);
    await scenario.cancel(job);
    assert.deepEqual(kindsOf(await redrive(scenario, job)), ["redriven"]);
    assert.equal((await scenario.reload(job)).status, "blocked");
  });

  test("keeps the moment a job was scheduled for, if that is still to come", async (scenario) => {
    const job = await scenario.start({ schedule: { afterMs: 60_000 } });
    await scenario.cancel(job);
    assert.deepEqual(kindsOf(await redrive(scenario, job)), ["redriven"]);
    assert.equal((await scenario.reload(job)).scheduledAt, baseTime + 60_000);
  });

  test("refuses a job that would come back to wait for a sequence that waits for its own", async (scenario) => {
    const first = await scenario.start();
    const waiting = await scenario.startBlocked([first]);
    await scenario.cancel(waiting);
    // While the other was failed it could be waited for; brought back, the two would wait for each other without end.
    const running = await scenario.run(first);
    const next = await scenario.adapter.runInTransaction(async (ctx: object) => {
      const continuation = newJob({
        queue: running.queue,
        typeName: running.typeName,
        sequenceId: running.sequenceId,
        sequenceTypeName: running.sequenceTypeName,
        sequenceIndex: 1,
        rootSequenceId: running.rootSequenceId,
        originId: running.id,
        onBlockerFailure: "wait",
        awaitsBlockers: true,
      });
      await scenario.adapter.createJobs({ jobs: [continuation], ctx, now: baseTime });
      const outcome = outcomeOf(running, { ...completion, output: null, continuedToId: continuation.id });
      await scenario.adapter.commitOutcomes({ outcomes: [outcome], ctx, now: baseTime });
      const blockerSequenceIds = [waiting.sequenceId];
      return scenario.adapter.addJobBlockers({
        jobId: continuation.id,
        blockerSequenceIds,
        ctx,
        now: baseTime,
      });
    });
    assert.equal(next.status, "blocked");
    assert.deepEqual(kindsOf(await redrive(scenario, waiting)), ["blocker_cycle"]);
    assert.equal((await scenario.reload(waiting)).status, "failed");
  });

  const keyed = { deduplication: { key: "key", scope: "unfinished", windowMs: null } } as const;

  /** A failed sequence of a key, and an unfinished one that was started after it. */
  const failAndStartAgain = async (
    scenario: StateScenario,
    startFirst: () => Promise<StateJob>,
    fail: (first: StateJob) => Promise<unknown>,
  ): Promise<[StateJob, StateJob]> => {
    const first = await startFirst();
    await fail(first);
    return [await scenario.reload(first), await scenario.start(keyed)];
  };

  test("refuses a job whose deduplication key has been taken since, until that one is over", async (scenario) => {
    const [failed, live] = await failAndStartAgain(
      scenario,
      () => scenario.start(keyed),
      (first) => scenario.endWorkerless(first, failure),
    );
    assert.deepEqual(await redrive(scenario, failed), [
      { jobId: failed.id, kind: "duplicate_live", job: failed, revived: [] },
    ]);
    await scenario.endWorkerless(live, completion);
    assert.deepEqual(kindsOf(await redrive(scenario, failed)), ["redriven"]);
  });

  test("does not revive a job whose deduplication key has been taken since", async (scenario) => {
    const blocker = await scenario.start();
    const [taken] = await failAndStartAgain(
      scenario,
      () => scenario.startBlocked([blocker], keyed),
      () => scenario.endWorkerless(blocker, failure),
    );
    assert.deepEqual((await redrive(scenario, blocker))[0]?.revived, []);
    assert.deepEqual(await scenario.reload(taken), taken);
  });
};
