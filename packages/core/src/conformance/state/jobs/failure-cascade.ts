import assert from "node:assert/strict";
import type { OutcomeResult } from "../../../store/contract/outcomes.ts";
import { blockerErrorText } from "../../../store/rules/dependants.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, retryAfter } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const cascadedIds = (result: OutcomeResult): string[] => {
  assert.equal(result.kind, "applied");
  return result.cascaded.map(({ id }) => id);
};

/** Jobs that each wait for the one before. */
const startChain = async ({ start, startBlocked }: StateScenario, length: number): Promise<StateJob[]> => {
  const chain = [await start()];
  while (chain.length < length) chain.push(await startBlocked(chain.slice(-1)));
  return chain;
};

export const describeFailureCascade = ({ test }: StateSuite): void => {
  test("fails who waits for the sequence, and names the blocker", async (scenario) => {
    const [blocker, job] = await startChain(scenario, 2);
    assert.ok(blocker && job);
    const result = await scenario.end(await scenario.run(blocker), failure, baseTime + 9);
    const { id, typeName, queue, sequenceId, sequenceTypeName, rootSequenceId } = job;
    assert.deepEqual(result, {
      kind: "applied",
      at: baseTime + 9,
      unblocked: [],
      cascaded: [{ id, typeName, queue, sequenceId, sequenceTypeName, rootSequenceId }],
    });
    assert.deepEqual(await scenario.reload(job), {
      ...job,
      status: "failed",
      failedAt: baseTime + 9,
      failureReason: "blocker_failed",
      failedBlockerId: blocker.id,
      lastError: blockerErrorText({ ...blocker, lastError: "broken" }),
    });
  });

  test("tells what began it, through any number of levels", async (scenario) => {
    const error = JSON.stringify({ name: "CaveIn", message: "The shaft is lost", stack: "at mine.ts:1" });
    const chain = await startChain(scenario, 4);
    await scenario.end(await scenario.run(chain[0]!), { ...failure, error });
    const after = await scenario.reloadAll(chain);
    for (const [index, job] of after.entries()) {
      if (index === 0) continue;
      const { sequenceId, sequenceTypeName } = after[index - 1]!;
      assert.deepEqual(JSON.parse(job.lastError!), {
        name: "BlockerFailedError",
        message: `It waited for sequence ${sequenceId} ("${sequenceTypeName}"), which failed: CaveIn: The shaft is lost`,
        cause: { name: "CaveIn", message: "The shaft is lost" },
      });
    }
    const late = await scenario.startBlocked(after.slice(-1));
    assert.equal(late.failureReason, "blocker_failed");
    assert.equal(late.lastError, blockerErrorText(after.at(-1)!));
  });

  test("tells so of a blocker that was cancelled, or whose leases ran out", async (scenario) => {
    const [cancelled, behindCancelled] = await startChain(scenario, 2);
    await scenario.cancel(cancelled!);
    const lost = await scenario.start({ maxAttempts: 1, typeName: `${scenario.typeName}-lost` });
    const behindLost = await scenario.startBlocked([lost]);
    await scenario.run(lost, { leaseMs: 10 });
    const reaping = { limit: 1_000, error: "expired", now: baseTime + 10 };
    await scenario.adapter.reapExpiredLeases(reaping);
    for (const [blocker, job, error] of [
      [cancelled!, behindCancelled!, "stopped"],
      [lost, behindLost, "expired"],
    ] as const) {
      assert.equal(
        (await scenario.reload(job)).lastError,
        blockerErrorText({ ...blocker, lastError: error }),
      );
    }
  });

  test("overwrites the error of an earlier failure, and keeps that text short", async (scenario) => {
    const error = JSON.stringify({ name: "Error", message: "x".repeat(4_000) });
    const [blocker, job] = await startChain(scenario, 2);
    await scenario.endWorkerless(blocker!, { ...failure, error });
    assert.ok((await scenario.reload(job!)).lastError!.length < 2_000);
    await scenario.adapter.redriveJobs({ jobIds: [blocker!.id], now: baseTime });
    await scenario.endWorkerless(blocker!, failure);
    assert.match((await scenario.reload(job!)).lastError!, /failed: Error: broken/);
  });

  test("goes on through all who wait for those", async (scenario) => {
    const [first, ...rest] = await startChain(scenario, 200);
    assert.ok(first);
    const result = await scenario.endWorkerless(first, failure);
    assert.deepEqual(cascadedIds(result).sort(), rest.map(({ id }) => id).sort());
    const after = await scenario.reloadAll([first, ...rest]);
    assert.ok(after.every(({ status }) => status === "failed"));
    assert.deepEqual(
      after.map(({ failedBlockerId }) => failedBlockerId),
      [null, ...after.slice(0, -1).map(({ id }) => id)],
    );
  });

  test("reports a job that is reached on two ways once", async (scenario) => {
    const bottom = await scenario.start();
    const sides = [await scenario.startBlocked([bottom]), await scenario.startBlocked([bottom])];
    const top = await scenario.startBlocked(sides);
    const result = await scenario.endWorkerless(bottom, failure);
    assert.deepEqual(cascadedIds(result).sort(), [...sides, top].map(({ id }) => id).sort());
  });

  test("fails a job although its other blockers are open or completed", async (scenario) => {
    const [open, done, broken] = await scenario.startMany([{}, {}, {}]);
    assert.ok(open && done && broken);
    const job = await scenario.startBlocked([open, done, broken]);
    await scenario.endWorkerless(done, completion);
    assert.deepEqual(cascadedIds(await scenario.endWorkerless(broken, failure)), [job.id]);
    const after = await scenario.reload(job);
    assert.deepEqual([after.failedBlockerId, after.openBlockers], [broken.id, 2]);
  });

  test('stops at a job with onBlockerFailure "wait"', async (scenario) => {
    const blocker = await scenario.start();
    const waiting = await scenario.startBlocked([blocker], { onBlockerFailure: "wait" });
    const behind = await scenario.startBlocked([waiting]);
    assert.deepEqual(cascadedIds(await scenario.endWorkerless(blocker, failure)), []);
    assert.deepEqual(await scenario.reloadAll([waiting, behind]), [waiting, behind]);
  });

  test("leaves alone who has ended already", async (scenario) => {
    const blocker = await scenario.start();
    const completed = await scenario.startBlocked([blocker]);
    await scenario.endWorkerless(completed, completion);
    const before = await scenario.reload(completed);
    assert.deepEqual(cascadedIds(await scenario.endWorkerless(blocker, failure)), []);
    assert.deepEqual(await scenario.reload(completed), before);
  });

  test("a failed continuation fails those who wait for its sequence", async (scenario) => {
    const first = await scenario.run(await scenario.start());
    const job = await scenario.startBlocked([first]);
    const continuation = await scenario.continueSequence(first);
    assert.deepEqual(cascadedIds(await scenario.endWorkerless(continuation, failure)), [job.id]);
    assert.equal((await scenario.reload(job)).failedBlockerId, first.sequenceId);
  });

  test("a retry fails nobody", async (scenario) => {
    const [blocker, job] = await startChain(scenario, 2);
    assert.ok(blocker && job);
    await scenario.end(await scenario.run(blocker), retryAfter(0));
    assert.deepEqual(await scenario.reload(job), job);
  });
};
