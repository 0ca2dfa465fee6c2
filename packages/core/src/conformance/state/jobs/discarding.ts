import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { isDiscardable } from "../../../store/rules/checks.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, type Ending, outcomeOf, type StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const later = baseTime + 700;
const applied = { kind: "applied", at: later, unblocked: [], cascaded: [] };
const discard: Ending = { ...completion, keep: false };

const statusOf = async ({ adapter }: StateScenario, { id }: StateJob): Promise<string> => {
  const [job] = await adapter.getJobs({ jobIds: [id] });
  return job?.status ?? "deleted";
};

/** A store without the capability completes all of them as usual. */
const gone = ({ adapter }: StateScenario): string =>
  adapter.capabilities.discardsCompleted === true ? "deleted" : "completed";

export const describeDiscarding = ({ test }: StateSuite): void => {
  test("a job that is not to be kept is deleted when it completes", async (scenario) => {
    const { adapter, start, run, end } = scenario;
    const job = await run(await start());
    assert.ok(isDiscardable(job));
    assert.deepEqual(await end(job, discard, later), applied);
    assert.equal(await statusOf(scenario, job), gone(scenario));
    if (gone(scenario) === "deleted")
      assert.deepEqual(await adapter.getSequences({ sequenceIds: [job.id] }), [undefined]);
  });

  test("the same outcome again finds nothing, and changes nothing", async (scenario) => {
    const { start, run, end } = scenario;
    const job = await run(await start());
    await end(job, discard, later);
    const again = await end(job, discard, later);
    const expected =
      gone(scenario) === "deleted"
        ? { kind: "refused", reason: "not_found", status: null, failureReason: null }
        : { kind: "repeated" };
    assert.deepEqual(again, expected);
  });

  test("only the holder of a valid lease can have it deleted", async (scenario) => {
    const { adapter, start, run, end } = scenario;
    const job = await run(await start(), { leaseMs: 1_000 });
    const foreign = await end({ ...job, leaseToken: randomUUID() }, discard, later);
    assert.equal(foreign.kind === "refused" && foreign.reason, "lease_mismatch");
    const late = await end(job, discard, baseTime + 1_000);
    assert.equal(late.kind === "refused" && late.reason, "lease_expired");
    assert.equal(await statusOf(scenario, job), "running");
    const [result] = await adapter.runInTransaction(async (ctx) => {
      const leases = [{ jobId: job.id, leaseToken: job.leaseToken! }];
      await adapter.lockHeldJobs({ ctx, leases, now: later });
      const outcomes = [{ ...outcomeOf(job, discard), locked: true }];
      return adapter.commitOutcomes({ ctx, outcomes, now: baseTime + 1_000 });
    });
    assert.equal(result?.kind, "applied");
    assert.equal(await statusOf(scenario, job), gone(scenario));
  });

  test("a deletion in a transaction that is rolled back has not happened", async (scenario) => {
    const { adapter, start, run, end } = scenario;
    const job = await run(await start());
    await assert.rejects(
      adapter.runInTransaction(async (ctx) => {
        const [result] = await adapter.commitOutcomes({
          ctx,
          outcomes: [outcomeOf(job, discard)],
          now: later,
        });
        assert.equal(result?.kind, "applied");
        throw new Error("no");
      }),
      /no/,
    );
    assert.equal(await statusOf(scenario, job), "running");
    assert.deepEqual(await end(job, discard, later), applied);
  });

  test("workerless completion keeps the job", async (scenario) => {
    const { start, endWorkerless } = scenario;
    const job = await start();
    await endWorkerless(job, { ...completion, keep: false, completedBy: null }, later);
    assert.equal(await statusOf(scenario, job), "completed");
  });

  const kept = (
    what: string,
    prepare: (scenario: StateScenario) => Promise<StateJob>,
    ending: Ending = discard,
  ): void =>
    test(`kept: ${what}`, async (scenario) => {
      const job = await prepare(scenario);
      assert.deepEqual(await scenario.end(job, ending, later), applied);
      assert.equal(await statusOf(scenario, job), "completed");
      assert.deepEqual(await scenario.end(job, ending, later), { kind: "repeated" });
    });

  kept("a job for which nothing else was said", async ({ start, run }) => run(await start()), completion);

  kept("a job with a deduplication key", async ({ start, run }) =>
    run(await start({ deduplication: { key: randomUUID(), scope: "all", windowMs: null } })),
  );

  kept("a job that has started another one", async ({ start, run, typeName }) => {
    const job = await run(await start());
    await start({ typeName: `${typeName}-child`, rootSequenceId: job.id, originId: job.id });
    return job;
  });

  kept("a job of a tree that is not its root", async ({ start, run, typeName }) => {
    const parent = await start({ typeName: `${typeName}-parent` });
    return run(await start({ rootSequenceId: parent.id, originId: parent.id }), { typeNames: [typeName] });
  });

  kept("the last job of a longer sequence", async ({ start, run, continueSequence }) => {
    const next = await continueSequence(await run(await start()), {}, baseTime);
    return run(next);
  });

  kept("a job that ran before", async ({ start, run, end }) => {
    const job = await start();
    await end(await run(job), { kind: "retry", schedule: { at: baseTime }, error: "no" }, baseTime);
    return run(job);
  });

  kept("a job with a group", async ({ start, run }) => run(await start({ group: "customer" })));

  kept("a job that had blockers", async ({ start, startBlocked, run, endWorkerless, typeName }) => {
    const blocker = await start({ typeName: `${typeName}-blocker` });
    const blocked = await startBlocked([blocker]);
    await endWorkerless(blocker, completion, baseTime);
    return run(blocked, { typeNames: [typeName] });
  });

  test("kept: a job for which another one waits, which can then run", async (scenario) => {
    const { start, startBlocked, run, end, reload } = scenario;
    const job = await run(await start());
    const blocked = await startBlocked([job]);
    const result = await end(job, discard, later);
    assert.deepEqual(result.kind === "applied" && result.unblocked.map(({ id }) => id), [blocked.id]);
    assert.equal(await statusOf(scenario, job), "completed");
    assert.equal((await reload(blocked)).status, "pending");
  });

  test("a batch deletes, keeps, completes and refuses, each job on its own", async (scenario) => {
    const { adapter, startMany, startBlocked, claim, typeName } = scenario;
    const jobs = await startMany([{}, {}, {}, {}, {}]);
    const claimed = await claim();
    const of = (index: number): StateJob => claimed.find(({ id }) => id === jobs[index]!.id)!;
    await startBlocked([of(1)], { typeName: `${typeName}-blocked` });
    const results = await adapter.commitOutcomes({
      outcomes: [
        outcomeOf(of(0), discard),
        outcomeOf(of(1), discard),
        outcomeOf(of(2), completion),
        outcomeOf({ ...of(3), leaseToken: randomUUID() }, discard),
        outcomeOf(of(4), { kind: "retry", schedule: { afterMs: 1_000_000 }, error: null }),
      ],
      now: later,
    });
    assert.deepEqual(
      results.map((result) => (result.kind === "refused" ? result.reason : result.kind)),
      ["applied", "applied", "applied", "lease_mismatch", "applied"],
    );
    for (const result of results) if (result.kind === "applied") assert.equal(result.at, later);
    const statuses: string[] = [];
    for (const index of jobs.keys()) statuses.push(await statusOf(scenario, of(index)));
    assert.deepEqual(statuses, [gone(scenario), "completed", "completed", "running", "pending"]);
  });

  test("the last call of a transaction deletes and keeps, each job on its own", async (scenario) => {
    const { adapter, startMany, start, claim, typeName } = scenario;
    const now = await adapter.getTime();
    const jobs = await startMany([{}, {}, {}], now);
    const claimed = await claim({ leaseMs: 3_600_000, now });
    const outcomes = jobs.map(({ id }, index) => {
      const job = claimed.find((other) => other.id === id)!;
      return { ...outcomeOf(job, index === 2 ? completion : discard), locked: true };
    });
    await start({ typeName: `${typeName}-child`, rootSequenceId: jobs[1]!.id, originId: jobs[1]!.id });
    const leases = outcomes.map(({ jobId, leaseToken }) => ({ jobId, leaseToken: leaseToken! }));
    await adapter.runInTransaction(async (ctx) => {
      await adapter.lockHeldJobs({ ctx, leases });
      const results = await adapter.commitOutcomes({ ctx, outcomes, isLast: true });
      assert.deepEqual(
        results.map(({ kind }) => kind),
        ["applied", "applied", "applied"],
      );
    });
    const statuses: string[] = [];
    for (const job of jobs) statuses.push(await statusOf(scenario, job));
    assert.deepEqual(statuses, [gone(scenario), "completed", "completed"]);
  });
};
