import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const later = baseTime + 30;
const cancelledFields = {
  status: "failed",
  failedAt: later,
  failureReason: "cancelled",
  lastError: "stopped",
  leaseToken: null,
  leasedBy: null,
  leasedUntil: null,
};

export const describeCancelSequences = ({ test }: StateSuite): void => {
  test("fails a pending job", async ({ start, cancel, reload, claim }) => {
    const job = await start();
    const result = await cancel(job, later);
    const expected = { ...job, ...cancelledFields };
    assert.deepEqual(result, {
      sequenceId: job.sequenceId,
      kind: "cancelled",
      job: expected,
      changed: true,
      wasRunning: false,
      cascaded: [],
    });
    assert.deepEqual(await reload(job), expected);
    assert.deepEqual(await claim({ now: later }), []);
  });

  test("fails a blocked job", async ({ start, startBlocked, cancel, reload }) => {
    const job = await startBlocked([await start()]);
    assert.equal((await cancel(job, later)).kind, "cancelled");
    assert.deepEqual(await reload(job), { ...job, ...cancelledFields });
  });

  test("fails a running job, which loses its lease at once", async ({
    start,
    run,
    cancel,
    reload,
    adapter,
    claim,
  }) => {
    const running = await run(await start(), { leaseMs: 1_000 });
    const result = await cancel(running, later);
    assert.deepEqual([result.kind, result.wasRunning], ["cancelled", true]);
    assert.deepEqual(await reload(running), { ...running, ...cancelledFields });
    const leases = [{ jobId: running.id, leaseToken: running.leaseToken ?? "", leaseMs: 1_000 }];
    assert.deepEqual(await adapter.renewLeases({ leases, now: later }), [
      { kind: "refused", reason: "not_running", status: "failed", failureReason: "cancelled" },
    ]);
    assert.deepEqual(await claim({ now: baseTime + 5_000 }), []);
  });

  test("fails the latest job of a sequence", async ({ start, run, continueSequence, cancel, reload }) => {
    const first = await run(await start());
    const continuation = await continueSequence(first);
    assert.equal((await cancel(first, later)).job?.id, continuation.id);
    assert.equal((await reload(first)).status, "completed");
    assert.equal((await reload(continuation)).failureReason, "cancelled");
  });

  test("takes along who waits for the sequence", async ({ start, startBlocked, cancel, reload }) => {
    const blocker = await start();
    const waiting = await startBlocked([blocker]);
    const { cascaded } = await cancel(blocker, later);
    assert.deepEqual(
      cascaded.map(({ id }) => id),
      [waiting.id],
    );
    assert.equal((await reload(waiting)).failureReason, "blocker_failed");
  });

  test("cancelled twice is cancelled, and nothing changes", async ({ start, cancel, reload }) => {
    const job = await start();
    await cancel(job);
    const before = await reload(job);
    assert.deepEqual(await cancel(job, later), {
      sequenceId: job.sequenceId,
      kind: "cancelled",
      job: before,
      changed: false,
      wasRunning: false,
      cascaded: [],
    });
    assert.deepEqual(await reload(job), before);
  });

  test("answers for each sequence, in order, and leaves alone what is over", async (scenario) => {
    const [completed, failed, pending] = await scenario.startMany([{}, {}, {}]);
    assert.ok(completed && failed && pending);
    await scenario.endWorkerless(completed, completion);
    await scenario.endWorkerless(failed, failure);
    const before = await scenario.reloadAll([completed, failed]);
    const missing = randomUUID();
    const results = await scenario.adapter.cancelSequences({
      sequenceIds: [completed.id, missing, pending.id, failed.id],
      error: "stopped",
      now: later,
    });
    assert.deepEqual(
      results.map(({ sequenceId, kind, job }) => [sequenceId, kind, job?.id ?? null]),
      [
        [completed.id, "already_completed", completed.id],
        [missing, "not_found", null],
        [pending.id, "cancelled", pending.id],
        [failed.id, "already_failed", failed.id],
      ],
    );
    assert.deepEqual(await scenario.reloadAll([completed, failed]), before);
  });

  test("a job named together with its blocker is cancelled, whichever comes first", async (scenario) => {
    for (const reverse of [false, true]) {
      const blocker = await scenario.start();
      const waiting = await scenario.startBlocked([blocker]);
      const sequenceIds = [blocker.id, waiting.id];
      if (reverse) sequenceIds.reverse();
      const results = await scenario.adapter.cancelSequences({ sequenceIds, error: "stopped", now: later });
      assert.deepEqual(
        results.map(({ kind, job }) => [kind, job?.failureReason]),
        [
          ["cancelled", "cancelled"],
          ["cancelled", "cancelled"],
        ],
      );
      assert.equal((await scenario.reload(waiting)).failureReason, "cancelled");
    }
  });
};
