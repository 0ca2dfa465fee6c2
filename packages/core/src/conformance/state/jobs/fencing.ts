import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { OutcomeResult } from "../../../store/contract/outcomes.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, outcomeOf, release, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const endings = [completion, retryAfter(1_000), { ...release, schedule: { afterMs: 1_000 } }, failure];

const reasonOf = (result: OutcomeResult): string => (result.kind === "refused" ? result.reason : result.kind);

export const describeFencing = ({ test, testAlone }: StateSuite): void => {
  for (const ending of endings) {
    test(`${ending.kind}: refused from the very end of the lease, taken just before`, async (scenario) => {
      const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
      assert.deepEqual(await scenario.end(running, ending, baseTime + 1_000), {
        kind: "refused",
        reason: "lease_expired",
        status: "running",
        failureReason: null,
      });
      assert.deepEqual(await scenario.reload(running), running);
      assert.equal(reasonOf(await scenario.end(running, ending, baseTime + 999)), "applied");
    });

    test(`${ending.kind}: refused for another token, even in a locking transaction`, async (scenario) => {
      const { adapter } = scenario;
      const running = await scenario.run(await scenario.start());
      const stale = { ...outcomeOf(running, ending), leaseToken: randomUUID() };
      const [result] = await adapter.commitOutcomes({ outcomes: [stale], now: baseTime });
      assert.deepEqual(result, {
        kind: "refused",
        reason: "lease_mismatch",
        status: "running",
        failureReason: null,
      });
      const [locked] = await adapter.runInTransaction(async (ctx) => {
        await adapter.lockSequence({ sequenceId: running.sequenceId, ctx, now: baseTime });
        return adapter.commitOutcomes({ outcomes: [{ ...stale, locked: true }], ctx, now: baseTime });
      });
      assert.ok(locked);
      assert.equal(reasonOf(locked), "lease_mismatch");
      assert.deepEqual(await scenario.reload(running), running);
    });

    test(`${ending.kind}: refused for a job that is gone or never was`, async (scenario) => {
      const running = await scenario.run(await scenario.start());
      await scenario.adapter.deleteSequences({ rootSequenceIds: [running.id], now: baseTime });
      assert.deepEqual(await scenario.end(running, ending), {
        kind: "refused",
        reason: "not_found",
        status: null,
        failureReason: null,
      });
      assert.deepEqual(await scenario.adapter.getJobs({ jobIds: [running.id] }), [undefined]);
    });

    test(`${ending.kind}: made again with the same token it is repeated, however late`, async (scenario) => {
      const running = await scenario.run(await scenario.start());
      await scenario.end(running, ending);
      const before = await scenario.reload(running);
      assert.deepEqual(await scenario.end(running, ending, baseTime + 1_000_000), { kind: "repeated" });
      assert.deepEqual(await scenario.reload(running), before);
    });

    test(`${ending.kind}: made again after the next claim it is refused`, async (scenario) => {
      const job = await scenario.start();
      const first = await scenario.run(job);
      await scenario.end(first, retryAfter(0));
      const second = await scenario.run(job);
      assert.equal(reasonOf(await scenario.end(first, ending)), "lease_mismatch");
      assert.deepEqual(await scenario.reload(job), second);
    });

    test(`${ending.kind}: without a lease it is refused for a job that is over`, async (scenario) => {
      for (const over of [completion, failure]) {
        const job = await scenario.start();
        await scenario.endWorkerless(job, over);
        const before = await scenario.reload(job);
        assert.equal(reasonOf(await scenario.endWorkerless(job, ending)), "not_running");
        assert.deepEqual(await scenario.reload(job), before);
      }
    });
  }

  test("a worker that claimed its own expired job again is fenced from its earlier attempt", async (scenario) => {
    const job = await scenario.start();
    const first = await scenario.run(job, { workerId: "same", leaseMs: 1_000 });
    const second = await scenario.run(job, { workerId: "same", now: baseTime + 1_000 });
    for (const ending of endings) {
      assert.equal(reasonOf(await scenario.end(first, ending, baseTime + 1_001)), "lease_mismatch");
    }
    assert.deepEqual(await scenario.reload(job), second);
    assert.equal(reasonOf(await scenario.end(second, completion, baseTime + 1_001)), "applied");
  });

  test("an attempt has one outcome: a different one afterwards is refused", async (scenario) => {
    const completed = await scenario.run(await scenario.start());
    await scenario.end(completed, completion);
    for (const ending of endings.filter(({ kind }) => kind !== "complete")) {
      assert.deepEqual(await scenario.end(completed, ending), {
        kind: "refused",
        reason: "not_running",
        status: "completed",
        failureReason: null,
      });
    }
    const failed = await scenario.run(await scenario.start());
    await scenario.end(failed, failure);
    assert.deepEqual(await scenario.end(failed, completion), {
      kind: "refused",
      reason: "not_running",
      status: "failed",
      failureReason: "unrecoverable",
    });
  });

  testAlone("a holder whose job was reaped is refused, not told that it repeats itself", async (scenario) => {
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    await scenario.adapter.reapExpiredLeases({ limit: 10, error: "expired", now: baseTime + 1_000 });
    const reaped = await scenario.reload(running);
    for (const ending of endings) {
      assert.equal(reasonOf(await scenario.end(running, ending, baseTime + 1_001)), "not_running");
    }
    assert.deepEqual(await scenario.reload(running), reaped);
  });

  test("a holder whose job was cancelled learns so", async (scenario) => {
    const running = await scenario.run(await scenario.start());
    await scenario.cancel(running);
    for (const ending of endings) {
      assert.deepEqual(await scenario.end(running, ending), {
        kind: "refused",
        reason: "not_running",
        status: "failed",
        failureReason: "cancelled",
      });
    }
  });

  test("a holder whose job was completed without it is refused, not told that it repeats itself", async (scenario) => {
    const running = await scenario.run(await scenario.start());
    await scenario.endWorkerless(running, { ...completion, output: '"elsewhere"' });
    assert.deepEqual(await scenario.end(running, completion), {
      kind: "refused",
      reason: "not_running",
      status: "completed",
      failureReason: null,
    });
    assert.equal((await scenario.reload(running)).output, '"elsewhere"');
  });
};
