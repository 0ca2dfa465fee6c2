import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { HeldLease, LockResult } from "../../../store/contract/claims.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { createGate } from "../../gate.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, outcomeOf } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const leaseOn = ({ id, leaseToken }: StateJob): HeldLease => ({ jobId: id, leaseToken: leaseToken ?? "" });

const lockAll = (
  { adapter }: StateScenario,
  jobs: readonly StateJob[],
  now = baseTime,
): Promise<LockResult[]> =>
  adapter.runInTransaction((ctx) => adapter.lockHeldJobs({ leases: jobs.map(leaseOn), ctx, now }));

const lock = async (scenario: StateScenario, job: StateJob, now = baseTime): Promise<LockResult> => {
  const [result] = await lockAll(scenario, [job], now);
  return result!;
};

const reasonOf = (result: LockResult): string => (result.kind === "refused" ? result.reason : result.kind);

/** One job of three is lost; each of these is a reason of its own. */
const lostOfMany: readonly (readonly [
  string,
  string,
  (scenario: StateScenario, job: StateJob) => Promise<StateJob>,
])[] = [
  ["the lease of one has expired", "lease_expired", async (_scenario, job) => job],
  [
    "one has another lease",
    "lease_mismatch",
    async (_scenario, job) => ({ ...job, leaseToken: randomUUID() }),
  ],
  ["one does not exist", "not_found", async (_scenario, job) => ({ ...job, id: randomUUID() })],
  [
    "one has ended",
    "not_running",
    async (scenario, job) => {
      await scenario.end(job, completion);
      return job;
    },
  ],
];

export const describeLockHeldJobs = ({ test }: StateSuite): void => {
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

  test("answers for many in their order, each on its own", async (scenario) => {
    const { adapter } = scenario;
    await scenario.startMany([{}, {}, {}, {}]);
    const [held, expired, stale, ended] = await scenario.claim({ leaseMs: 1_000 });
    await scenario.end(ended!, completion);
    const longer = { ...leaseOn(held!), leaseMs: 5_000 };
    await adapter.renewLeases({ leases: [longer], now: baseTime });
    const asked = [
      ended!,
      { ...stale!, leaseToken: randomUUID() },
      held!,
      { ...held!, id: randomUUID() },
      expired!,
    ];
    const results = await lockAll(scenario, asked, baseTime + 2_000);
    assert.deepEqual(results.map(reasonOf), [
      "not_running",
      "lease_mismatch",
      "locked",
      "not_found",
      "lease_expired",
    ]);
    assert.deepEqual(await lockAll(scenario, []), []);
  });

  for (const [what, reason, change] of lostOfMany)
    test(`answers for each of many when ${what}`, async (scenario) => {
      await scenario.startMany([{}, {}, {}]);
      const jobs = await scenario.claim({ leaseMs: 1_000 });
      const others = jobs.slice(1).map((job) => ({ ...leaseOn(job), leaseMs: 5_000 }));
      await scenario.adapter.renewLeases({ leases: others, now: baseTime });
      const first = await change(scenario, jobs[0]!);
      const results = await lockAll(scenario, [first, ...jobs.slice(1)], baseTime + 1_000);
      assert.deepEqual(results.map(reasonOf), [reason, "locked", "locked"]);
    });

  test("answers for one job beside texts that are not ids", async (scenario) => {
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    const asked = [{ ...running, id: "no id" }, running];
    assert.deepEqual((await lockAll(scenario, asked)).map(reasonOf), ["not_found", "locked"]);
  });

  test("answers for many with leases of several claims", async (scenario) => {
    await scenario.startMany([{}, {}, {}, {}]);
    const jobs = [...(await scenario.claim({ limit: 2 })), ...(await scenario.claim({ limit: 2 }))];
    assert.deepEqual((await lockAll(scenario, jobs)).map(reasonOf), ["locked", "locked", "locked", "locked"]);
    const swapped = [{ ...jobs[0]!, leaseToken: jobs[3]!.leaseToken }, ...jobs.slice(1)];
    assert.deepEqual((await lockAll(scenario, swapped)).map(reasonOf), [
      "lease_mismatch",
      "locked",
      "locked",
      "locked",
    ]);
  });

  test("a locked job can be completed although its lease ran out meanwhile", async (scenario) => {
    const { adapter } = scenario;
    const running = await scenario.run(await scenario.start(), { leaseMs: 1_000 });
    const late = baseTime + 5_000;
    const results = await adapter.runInTransaction(async (ctx) => {
      await adapter.lockHeldJobs({ leases: [leaseOn(running)], ctx, now: baseTime });
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
      await adapter.lockHeldJobs({ leases: [leaseOn(running)], ctx, now: baseTime });
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
      await adapter.lockHeldJobs({ leases: [leaseOn(running)], ctx, now: baseTime });
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
    const leases = [leaseOn(await run(await start()))];
    await assert.rejects(adapter.lockHeldJobs({ leases, ctx: undefined, now: baseTime }), {
      code: "StateNotInTransaction",
    });
  });
};
