import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { LockResult } from "../../../contracts/state-adapter.ts";
import type { StateJob } from "../../../model/job.ts";
import { createGate } from "../../gate.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, outcomeOf } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const lock = ({ adapter }: StateScenario, job: StateJob, now = baseTime): Promise<LockResult> =>
  adapter.runInTransaction((ctx) =>
    adapter.lockJob({ jobId: job.id, leaseToken: job.leaseToken ?? "", ctx, now }),
  );

const reasonOf = (result: LockResult): string => (result.kind === "refused" ? result.reason : result.kind);

export const describeLockJob = ({ test }: StateSuite): void => {
  test("returns the job and changes nothing", async (scenario) => {
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    assert.deepEqual(await lock(scenario, running, baseTime + 999), { kind: "locked" });
    assert.deepEqual(await scenario.reload(running), running);
  });

  test("refuses as every other call of a lease-holder does", async (scenario) => {
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    assert.equal(reasonOf(await lock(scenario, running, baseTime + 1_000)), "lease_expired");
    assert.equal(reasonOf(await lock(scenario, { ...running, leaseToken: randomUUID() })), "lease_mismatch");
    assert.equal(reasonOf(await lock(scenario, { ...running, id: randomUUID() })), "not_found");
    await scenario.end(running, completion);
    assert.deepEqual(await lock(scenario, running), {
      kind: "refused",
      reason: "not_running",
      status: "completed",
      failureReason: null,
    });
  });

  test("a locked job can be completed although its lease ran out meanwhile", async (scenario) => {
    const { adapter } = scenario;
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    const late = baseTime + 5_000;
    const results = await adapter.runInTransaction(async (ctx) => {
      await adapter.lockJob({ jobId: running.id, leaseToken: running.leaseToken ?? "", ctx, now: baseTime });
      const outcomes = [{ ...outcomeOf(running, completion), locked: true }];
      return adapter.commitOutcomes({ outcomes, ctx, now: late });
    });
    assert.equal(results[0]?.kind, "applied");
    assert.equal((await scenario.reload(running)).completedAt, late);
  });

  test("so can one whose end others wait for", async (scenario) => {
    const { adapter } = scenario;
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    const waiting = await scenario.startBlocked([running]);
    const results = await adapter.runInTransaction(async (ctx) => {
      await adapter.lockJob({ jobId: running.id, leaseToken: running.leaseToken ?? "", ctx, now: baseTime });
      const outcomes = [{ ...outcomeOf(running, completion), locked: true }];
      return adapter.commitOutcomes({ outcomes, ctx, now: baseTime + 5_000 });
    });
    assert.equal(results[0]?.kind, "applied");
    assert.equal((await scenario.reload(waiting)).status, "pending");
  });

  test("nobody can take a locked job over, even when its lease has run out", async (scenario) => {
    const { adapter } = scenario;
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    const late = baseTime + 5_000;
    const [locked, claimStarted] = [createGate(), createGate()];
    const completing = adapter.runInTransaction(async (ctx) => {
      await adapter.lockJob({ jobId: running.id, leaseToken: running.leaseToken ?? "", ctx, now: baseTime });
      locked.open();
      await claimStarted.opened;
      const outcomes = [{ ...outcomeOf(running, completion), locked: true }];
      return adapter.commitOutcomes({ outcomes, ctx, now: late });
    });
    await locked.opened;
    const claiming = scenario.claim({ now: late });
    const reaping = adapter.reapExpiredLeases({ limit: 100, error: "expired", now: baseTime + 1_000 });
    claimStarted.open();

    assert.equal((await completing)[0]?.kind, "applied");
    assert.deepEqual(await claiming, []);
    assert.ok((await reaping).every(({ job }) => job.id !== running.id));
    assert.equal((await scenario.reload(running)).status, "completed");
  });

  test("needs a transaction", async ({ adapter, start, run }) => {
    const { id, leaseToken } = await run(await start());
    await assert.rejects(
      adapter.lockJob({ jobId: id, leaseToken: leaseToken ?? "", ctx: undefined, now: baseTime }),
      {
        code: "StateNotInTransaction",
      },
    );
  });
};
