import assert from "node:assert/strict";
import type { OutcomeResult } from "../../../store/contract/outcomes.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, outcomeOf } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const referenceTo = ({
  id,
  typeName,
  queue,
  sequenceId,
  sequenceTypeName,
  rootSequenceId,
}: StateJob): unknown => ({
  id,
  typeName,
  queue,
  sequenceId,
  sequenceTypeName,
  rootSequenceId,
});

const unblockedBy = (result: OutcomeResult | undefined): readonly unknown[] => {
  assert.equal(result?.kind, "applied");
  return result.unblocked;
};

export const describeUnblocking = ({ test }: StateSuite): void => {
  test("the last blocker to complete makes the job pending and reports it", async (scenario) => {
    const [one, two] = await scenario.startMany([{}, {}]);
    assert.ok(one && two);
    const job = await scenario.startBlocked([one, two]);
    assert.deepEqual(unblockedBy(await scenario.endWorkerless(one, completion)), []);
    assert.deepEqual(await scenario.reload(job), { ...job, openBlockers: 1 });
    assert.deepEqual(unblockedBy(await scenario.endWorkerless(two, completion)), [referenceTo(job)]);
    assert.deepEqual(await scenario.reload(job), { ...job, openBlockers: 0, status: "pending" });
    assert.deepEqual(
      (await scenario.claim()).map(({ id }) => id),
      [job.id],
    );
  });

  test("blockers that complete in one batch unblock the job once", async (scenario) => {
    const blockers = await scenario.startMany([{}, {}, {}]);
    const job = await scenario.startBlocked(blockers);
    const outcomes = blockers.map((blocker) => outcomeOf(blocker, completion));
    const results = await scenario.adapter.commitOutcomes({ outcomes, now: baseTime });
    assert.deepEqual(results.flatMap(unblockedBy), [referenceTo(job)]);
    const after = await scenario.reload(job);
    assert.deepEqual([after.status, after.openBlockers], ["pending", 0]);
  });

  test("a sequence unblocks when its last job completes, not before", async (scenario) => {
    const first = await scenario.run(await scenario.start());
    const job = await scenario.startBlocked([first]);
    const continuation = await scenario.continueSequence(first);
    assert.equal((await scenario.reload(job)).status, "blocked");
    assert.deepEqual(unblockedBy(await scenario.endWorkerless(continuation, completion)), [referenceTo(job)]);
    assert.equal((await scenario.reload(job)).status, "pending");
  });

  test("one sequence unblocks everyone who waits for it, of any queue and type", async (scenario) => {
    const blocker = await scenario.start();
    const jobs: StateJob[] = [];
    for (const suffix of ["a", "b", "c"]) {
      const names = { queue: `${scenario.queue}-${suffix}`, typeName: `${scenario.typeName}-${suffix}` };
      jobs.push(await scenario.startBlocked([blocker], names));
    }
    const result = await scenario.end(await scenario.run(blocker), completion);
    assert.equal(result.kind, "applied");
    assert.deepEqual(result.unblocked.map(({ id }) => id).sort(), jobs.map(({ id }) => id).sort());
    for (const { status } of await scenario.reloadAll(jobs)) assert.equal(status, "pending");
  });

  test("an unblocked job keeps its schedule", async (scenario) => {
    const blocker = await scenario.start();
    const job = await scenario.startBlocked([blocker], { schedule: { afterMs: 1_000 } });
    await scenario.endWorkerless(blocker, completion);
    assert.deepEqual(await scenario.claim({ now: baseTime + 999 }), []);
    assert.equal((await scenario.claim({ now: baseTime + 1_000 }))[0]?.id, job.id);
  });

  test('a job with onBlockerFailure "wait" is unblocked when its failed blocker is redriven and completes', async (scenario) => {
    const blocker = await scenario.start();
    const job = await scenario.startBlocked([blocker], { onBlockerFailure: "wait" });
    await scenario.endWorkerless(blocker, failure);
    assert.deepEqual(await scenario.reload(job), job);
    await scenario.adapter.redriveJobs({ jobIds: [blocker.id], now: baseTime });
    await scenario.endWorkerless(blocker, completion);
    assert.equal((await scenario.reload(job)).status, "pending");
  });

  test("a job that is over does not come back when its blocker completes", async (scenario) => {
    const blocker = await scenario.start();
    const cancelled = await scenario.startBlocked([blocker]);
    await scenario.cancel(cancelled);
    const completed = await scenario.startBlocked([blocker]);
    await scenario.endWorkerless(completed, completion);
    assert.deepEqual(unblockedBy(await scenario.endWorkerless(blocker, completion)), []);
    assert.equal((await scenario.reload(cancelled)).status, "failed");
    assert.equal((await scenario.reload(completed)).status, "completed");
  });
};
