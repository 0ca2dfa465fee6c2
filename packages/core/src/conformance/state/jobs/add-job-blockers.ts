import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

/** Gives blockers to a job that was created before with `awaitsBlockers`. */
const block = ({ adapter }: StateScenario, job: StateJob, blockers: readonly StateJob[]): Promise<StateJob> =>
  adapter.runInTransaction((ctx) =>
    adapter.addJobBlockers({
      jobId: job.id,
      blockerSequenceIds: blockers.map(({ sequenceId }) => sequenceId),
      ctx,
      now: baseTime,
    }),
  );

export const describeAddJobBlockers = ({ test }: StateSuite): void => {
  test("leaves the job blocked while a blocker is open, and counts", async (scenario) => {
    const [open, done] = await scenario.startMany([{}, {}]);
    assert.ok(open && done);
    await scenario.endWorkerless(done, completion);
    const waiting = await scenario.start({ awaitsBlockers: true });
    const job = await block(scenario, waiting, [open, done]);
    assert.deepEqual(job, { ...waiting, status: "blocked", blockerCount: 2, openBlockers: 1 });
    assert.deepEqual(await scenario.reload(job), job);
  });

  test("makes the job pending when every blocker has completed", async ({
    start,
    startBlocked,
    endWorkerless,
  }) => {
    const done = await start();
    await endWorkerless(done, completion);
    const job = await startBlocked([done]);
    assert.deepEqual([job.status, job.blockerCount, job.openBlockers], ["pending", 1, 0]);
  });

  test("makes the job pending when there is no blocker", async ({ startBlocked }) => {
    assert.equal((await startBlocked([])).status, "pending");
  });

  test("fails the job when a blocker has failed", async (scenario) => {
    const [open, broken] = await scenario.startMany([{}, {}]);
    assert.ok(open && broken);
    await scenario.endWorkerless(broken, failure);
    const job = await scenario.startBlocked([open, broken], {}, baseTime + 5);
    assert.equal(job.status, "failed");
    assert.equal(job.failureReason, "blocker_failed");
    assert.equal(job.failedBlockerId, broken.id);
    assert.equal(job.failedAt, baseTime + 5);
    assert.deepEqual(await scenario.reload(job), job);
  });

  test('lets a job with onBlockerFailure "wait" wait for a failed blocker', async (scenario) => {
    const broken = await scenario.start();
    await scenario.endWorkerless(broken, failure);
    const job = await scenario.startBlocked([broken], { onBlockerFailure: "wait" });
    assert.deepEqual([job.status, job.openBlockers], ["blocked", 1]);
  });

  test("a sequence counts by its latest job", async (scenario) => {
    const first = await scenario.start();
    const continuation = await scenario.continueSequence(await scenario.run(first));
    assert.equal((await scenario.startBlocked([first])).status, "blocked");
    await scenario.endWorkerless(continuation, completion);
    assert.equal((await scenario.startBlocked([first])).status, "pending");
  });

  test("takes the same sequence twice", async ({ adapter, start, startBlocked, endWorkerless, reload }) => {
    const blocker = await start();
    const job = await startBlocked([blocker, blocker]);
    assert.equal(job.status, "blocked");
    assert.equal((await adapter.getBlockers({ jobIds: [job.id] }))[0]?.length, 2);
    await endWorkerless(blocker, completion);
    const unblocked = await reload(job);
    assert.deepEqual([unblocked.status, unblocked.openBlockers], ["pending", 0]);
  });

  test("a continuation that fails at once takes along whoever waits for its sequence", async (scenario) => {
    const broken = await scenario.start();
    await scenario.endWorkerless(broken, failure);
    const first = await scenario.run(await scenario.start({ typeName: `${scenario.typeName}-first` }));
    const waiting = await scenario.startBlocked([first]);

    const continuation = await scenario.continueSequence(first, { awaitsBlockers: true });
    assert.equal((await block(scenario, continuation, [broken])).status, "failed");
    const taken = await scenario.reload(waiting);
    assert.deepEqual([taken.status, taken.failedBlockerId], ["failed", first.sequenceId]);
  });

  test("throws for a sequence that does not exist, and the transaction leaves nothing", async ({
    adapter,
    newJob,
  }) => {
    const job = newJob({ awaitsBlockers: true });
    const missing = randomUUID();
    await assert.rejects(
      adapter.runInTransaction(async (ctx) => {
        await adapter.createJobs({ jobs: [job], ctx, now: baseTime });
        await adapter.addJobBlockers({ jobId: job.id, blockerSequenceIds: [missing], ctx, now: baseTime });
      }),
      { code: "JobNotFound", id: missing },
    );
    assert.deepEqual(await adapter.getJobs({ jobIds: [job.id] }), [undefined]);
  });

  test("throws for a job that does not exist", async ({ adapter }) => {
    const jobId = randomUUID();
    await assert.rejects(
      adapter.runInTransaction((ctx) =>
        adapter.addJobBlockers({ jobId, blockerSequenceIds: [], ctx, now: baseTime }),
      ),
      { code: "JobNotFound", id: jobId },
    );
  });

  test("refuses a job that would wait for its own sequence", async (scenario) => {
    const job = await scenario.start({ awaitsBlockers: true });
    await assert.rejects(block(scenario, job, [job]), { code: "BlockerCycle", jobId: job.id });
  });

  test("refuses a cycle through other blocked jobs, however long", async (scenario) => {
    const first = await scenario.start({ awaitsBlockers: true });
    let last = first;
    for (let length = 0; length < 3; length += 1) last = await scenario.startBlocked([last]);
    const free = await scenario.start();
    await assert.rejects(block(scenario, first, [free, last]), { code: "BlockerCycle", jobId: first.id });
    const after = await scenario.reload(first);
    assert.deepEqual([after.status, after.blockerCount], ["blocked", 0]);
  });

  test("a diamond is no cycle", async (scenario) => {
    const bottom = await scenario.start();
    const sides = [await scenario.startBlocked([bottom]), await scenario.startBlocked([bottom])];
    const top = await scenario.startBlocked([...sides, bottom]);
    assert.deepEqual([top.status, top.openBlockers], ["blocked", 3]);
  });

  test("one who waits no longer closes no cycle", async (scenario) => {
    const job = await scenario.start({ awaitsBlockers: true });
    const over = await scenario.startBlocked([job]);
    await scenario.endWorkerless(over, completion);
    assert.equal((await block(scenario, job, [over])).status, "pending");
  });

  test("needs a transaction", async ({ adapter, start }) => {
    const job = await start({ awaitsBlockers: true });
    await assert.rejects(
      adapter.addJobBlockers({ jobId: job.id, blockerSequenceIds: [], ctx: undefined, now: baseTime }),
      { code: "StateNotInTransaction" },
    );
  });
};
