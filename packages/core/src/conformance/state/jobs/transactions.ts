import assert from "node:assert/strict";
import type { StateJob } from "../../../store/contract/job.ts";
import { createGate } from "../../gate.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, outcomeOf } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

type Work = (ctx: object) => Promise<unknown>;

/** Runs the work in a transaction and has it rolled back. */
const rollBack = async ({ adapter }: StateScenario, work: Work): Promise<void> => {
  const reason = new Error("rolled back on purpose");
  await assert.rejects(
    adapter.runInTransaction(async (ctx) => {
      await work(ctx);
      throw reason;
    }),
    (error) => error === reason,
  );
};

const running = async (scenario: StateScenario): Promise<StateJob> =>
  scenario.run(await scenario.start({ typeName: `${scenario.typeName}-running` }));

const throwing = (): never => {
  throw new Error("hostile");
};

const foreignContexts = (): unknown[] => [
  {},
  [],
  { client: {} },
  { client: null },
  { client: "BEGIN" },
  Object.create(null),
  new Map(),
  new Proxy({}, { get: throwing, has: throwing, ownKeys: throwing, getPrototypeOf: throwing }),
  Object.defineProperty({}, "client", { get: throwing, enumerable: true }),
];

export const describeTransactions = ({ test }: StateSuite): void => {
  test("commits when the callback resolves, and passes its result on", async ({
    adapter,
    newJob,
    reload,
  }) => {
    const job = newJob();
    const result = await adapter.runInTransaction(async (ctx) => {
      await adapter.createJobs({ jobs: [job], ctx, now: baseTime });
      return "result";
    });
    assert.equal(result, "result");
    assert.equal((await reload(job)).status, "pending");
  });

  test("calls with the context see what the transaction has done so far", async ({
    adapter,
    newJob,
    queue,
  }) => {
    await adapter.runInTransaction(async (ctx) => {
      const job = newJob();
      await adapter.createJobs({ jobs: [job], ctx, now: baseTime });
      assert.equal((await adapter.getJobs({ jobIds: [job.id], ctx }))[0]?.id, job.id);
      const page = await adapter.listJobs({
        filter: { queues: [queue] },
        order: "oldest",
        limit: 9,
        after: null,
        ctx,
      });
      assert.equal(page.jobs.length, 1);
      await adapter.cancelSequences({ sequenceIds: [job.id], error: "stopped", ctx, now: baseTime });
      const [sequence] = await adapter.getSequences({ sequenceIds: [job.id], ctx });
      assert.equal(sequence?.current.status, "failed");
    });
  });

  test("a call still under way when its transaction fails leaves nothing behind", async (scenario) => {
    const { adapter, newJob, reload } = scenario;
    const first = await running(scenario);
    const next = newJob({ sequenceId: first.sequenceId, sequenceIndex: 1 });
    const reason = new Error("failed in the meantime");
    let underWay: Promise<unknown> | undefined;
    await assert.rejects(
      adapter.runInTransaction(async (ctx) => {
        // A continuation takes more than one statement in some stores.
        underWay = adapter.createJobs({ jobs: [next], ctx, now: baseTime });
        underWay.catch(() => {});
        throw reason;
      }),
      (error) => error === reason,
    );
    await underWay?.catch(() => {});
    assert.deepEqual(await adapter.getJobs({ jobIds: [next.id] }), [undefined]);
    assert.equal((await reload(first)).status, "running");
  });

  test("a job started in a transaction that fails never was", async (scenario) => {
    const { adapter, newJob, queue } = scenario;
    const job = newJob({ deduplication: { key: "key", scope: "all", windowMs: null } });
    await rollBack(scenario, (ctx) => adapter.createJobs({ jobs: [job], ctx, now: baseTime }));
    assert.deepEqual(await adapter.getJobs({ jobIds: [job.id] }), [undefined]);
    assert.deepEqual(await scenario.claim(), []);
    assert.deepEqual(await adapter.countJobs({ filter: { queues: [queue] } }), []);
    const [again] = await adapter.createJobs({ jobs: [job], now: baseTime });
    assert.equal(again?.deduplicated, false);
  });

  test("a rolled back claim leaves the job where it stood in line", async (scenario) => {
    const { adapter, queue } = scenario;
    const jobs = await scenario.startMany([{}, {}, {}]);
    await rollBack(scenario, async (ctx) => {
      const requests = [{ queue, typeNames: null, limit: 2 }];
      const call = { workerId: "w", leaseToken: "rolled-back", leaseMs: 1_000, limit: 2, requests };
      const claimed = await adapter.claimJobs({ ...call, ctx, now: baseTime });
      assert.equal(claimed.length, 2);
    });
    assert.deepEqual(await scenario.reloadAll(jobs), jobs);
    assert.deepEqual(
      (await scenario.claim()).map(({ id }) => id),
      jobs.map(({ id }) => id),
    );
  });

  test("a rolled back completion undoes what it unblocked, and the lease still holds", async (scenario) => {
    const { adapter } = scenario;
    const blocker = await running(scenario);
    const waiting = await scenario.startBlocked([blocker]);
    await rollBack(scenario, async (ctx) => {
      const outcomes = [outcomeOf(blocker, completion)];
      const [result] = await adapter.commitOutcomes({ outcomes, ctx, now: baseTime });
      assert.deepEqual(result?.kind === "applied" && result.unblocked.map(({ id }) => id), [waiting.id]);
    });
    assert.deepEqual(await scenario.reloadAll([blocker, waiting]), [blocker, waiting]);
    assert.equal((await scenario.end(blocker, completion)).kind, "applied");
    assert.equal((await scenario.reload(waiting)).status, "pending");
  });

  test("a rolled back failure undoes what it took along", async (scenario) => {
    const { adapter } = scenario;
    const blocker = await running(scenario);
    const waiting = await scenario.startBlocked([blocker]);
    await rollBack(scenario, (ctx) =>
      adapter.commitOutcomes({ outcomes: [outcomeOf(blocker, failure)], ctx, now: baseTime }),
    );
    assert.deepEqual(await scenario.reloadAll([blocker, waiting]), [blocker, waiting]);
  });

  test("a rolled back continuation leaves the sequence as it was", async (scenario) => {
    const { adapter, newJob } = scenario;
    const first = await running(scenario);
    const next = newJob({
      sequenceId: first.id,
      sequenceIndex: 1,
      rootSequenceId: first.id,
      originId: first.id,
    });
    await rollBack(scenario, async (ctx) => {
      await adapter.createJobs({ jobs: [next], ctx, now: baseTime });
      const outcomes = [outcomeOf(first, { ...completion, continuedToId: next.id })];
      await adapter.commitOutcomes({ outcomes, ctx, now: baseTime });
    });
    assert.deepEqual(await adapter.getSequences({ sequenceIds: [first.id] }), [{ first, current: first }]);
  });

  test("rolled back blockers are forgotten by both sides", async (scenario) => {
    const { adapter } = scenario;
    const blocker = await scenario.start();
    const waiting = await scenario.start({ awaitsBlockers: true });
    await rollBack(scenario, (ctx) =>
      adapter.addJobBlockers({ jobId: waiting.id, blockerSequenceIds: [blocker.id], ctx, now: baseTime }),
    );
    assert.deepEqual(await scenario.reload(waiting), waiting);
    assert.deepEqual(await adapter.getBlockers({ jobIds: [waiting.id] }), [[]]);
    const page = await adapter.listBlockedJobs({ sequenceId: blocker.id, limit: 10, after: null });
    assert.deepEqual(page.jobs, []);
    const result = await scenario.endWorkerless(blocker, completion);
    assert.deepEqual(result.kind === "applied" && result.unblocked, []);
  });

  test("a rolled back deletion brings everything back", async (scenario) => {
    const { adapter } = scenario;
    const root = await scenario.start({
      deduplication: { key: "key", scope: "unfinished", windowMs: null },
    });
    const child = await scenario.start({ rootSequenceId: root.id, originId: root.id });
    const waiting = await scenario.startBlocked([child], { rootSequenceId: root.id, originId: root.id });
    await rollBack(scenario, async (ctx) => {
      const result = await adapter.deleteSequences({ rootSequenceIds: [root.id], ctx, now: baseTime });
      assert.equal(result.deleted.length, 3);
    });
    assert.deepEqual(await scenario.reloadAll([root, child, waiting]), [root, child, waiting]);
    const duplicate = scenario.newJob({
      deduplication: { key: "key", scope: "unfinished", windowMs: null },
    });
    assert.equal((await adapter.createJobs({ jobs: [duplicate], now: baseTime }))[0]?.deduplicated, true);
    await scenario.endWorkerless(child, completion);
    assert.equal((await scenario.reload(waiting)).status, "pending");
  });

  test("nobody sees or claims what a transaction has not committed", async (scenario) => {
    const { adapter, newJob, queue } = scenario;
    const job = newJob();
    const [created, looking] = [createGate(), createGate()];
    const transaction = rollBack(scenario, async (ctx) => {
      await adapter.createJobs({ jobs: [job], ctx, now: baseTime });
      created.open();
      await looking.opened;
    });
    await created.opened;
    // Whether a store answers at once or after the transaction, the answer is the same.
    const answers = Promise.all([
      adapter.getJobs({ jobIds: [job.id] }),
      adapter.countJobs({ filter: { queues: [queue] } }),
      scenario.claim(),
    ]);
    looking.open();
    await transaction;
    assert.deepEqual(await answers, [[undefined], [], []]);
  });

  test("commits at every isolation level that it offers, and rolls back", async (scenario) => {
    const { adapter, newJob } = scenario;
    for (const isolationLevel of adapter.capabilities.isolationLevels) {
      const [kept, undone] = [newJob(), newJob()];
      const create = (job: typeof kept, fails: boolean): Promise<void> =>
        adapter.runInTransaction(
          async (ctx) => {
            await adapter.createJobs({ jobs: [job], ctx, now: baseTime });
            if (fails) throw new Error("rolled back on purpose");
          },
          undefined,
          { isolationLevel },
        );
      await create(kept, false);
      await assert.rejects(create(undone, true), /on purpose/);
      const jobs = await adapter.getJobs({ jobIds: [kept.id, undone.id] });
      assert.deepEqual(
        jobs.map((job) => job?.status),
        ["pending", undefined],
      );
    }
  });

  test("takes no ordinary error for a rollback that asks to be repeated", async ({ adapter }) => {
    for (const error of [new Error("no"), undefined, null, "40001", { code: "ECONNRESET" }])
      assert.equal(adapter.isConflictRollback(error), false);
  });

  test("an inner transaction that fails is undone alone with savepoints, and else with the outer one", async (scenario) => {
    const { adapter, newJob } = scenario;
    const { savepoints } = adapter.capabilities;
    const [before, inside, after] = [newJob(), newJob(), newJob()];
    const create = (job: typeof before, ctx: object): Promise<unknown> =>
      adapter.createJobs({ jobs: [job], ctx, now: baseTime });
    const outer = adapter.runInTransaction(async (ctx) => {
      await create(before, ctx);
      const inner = adapter.runInTransaction(async (innerCtx) => {
        await create(inside, innerCtx);
        await adapter.cancelSequences({
          sequenceIds: [before.id],
          error: "stopped",
          ctx: innerCtx,
          now: baseTime,
        });
        throw new Error("inner");
      }, ctx);
      await assert.rejects(inner, { message: "inner" });
      if (savepoints) await create(after, ctx);
      else await assert.rejects(create(after, ctx), "what is lost takes no more calls");
    });
    if (savepoints) await outer;
    // Lost, although the error was caught; and not because an assertion inside has failed.
    else await assert.rejects(outer, (error) => !(error instanceof assert.AssertionError));
    const jobs = await adapter.getJobs({ jobIds: [before.id, inside.id, after.id] });
    assert.deepEqual(
      jobs.map((job) => job?.status),
      savepoints ? ["pending", undefined, "pending"] : [undefined, undefined, undefined],
    );
  });

  test("an inner transaction that succeeds commits, or is undone, with the outer one", async (scenario) => {
    const { adapter, newJob } = scenario;
    const [kept, undone] = [newJob(), newJob()];
    const createInside = (job: typeof kept, ctx: object): Promise<unknown> =>
      adapter.runInTransaction(
        (inner) => adapter.createJobs({ jobs: [job], ctx: inner, now: baseTime }),
        ctx,
      );
    await adapter.runInTransaction((ctx) => createInside(kept, ctx));
    await rollBack(scenario, (ctx) => createInside(undone, ctx));
    const [first, second] = await adapter.getJobs({ jobIds: [kept.id, undone.id] });
    assert.deepEqual([first?.id, second], [kept.id, undefined]);
  });

  test("tells a context in a transaction from one that is not", async ({ adapter }) => {
    let finished: unknown;
    await adapter.runInTransaction(async (ctx) => {
      finished = ctx;
      assert.equal(await adapter.isInTransaction(ctx), true);
    });
    assert.equal(await adapter.isInTransaction(finished), false);
    await adapter.provideContext(async (ctx) => {
      assert.equal(await adapter.isInTransaction(ctx), false);
    });
  });

  test("takes no other value for a context in a transaction, and never throws over one", async ({
    adapter,
  }) => {
    const values = [undefined, null, 0, 1n, "", "ctx", true, Symbol("ctx"), throwing, ...foreignContexts()];
    for (const value of values) assert.equal(await adapter.isInTransaction(value), false);
  });

  test("refuses a call with a context that is not in a transaction", async (scenario) => {
    const { adapter, newJob } = scenario;
    let finished: object = {};
    await adapter.runInTransaction(async (ctx) => {
      finished = ctx;
    });
    const job = newJob();
    const refused = { code: "StateNotInTransaction" };
    const attempt = async (ctx: unknown): Promise<void> => {
      const context = ctx as object;
      await assert.rejects(adapter.createJobs({ jobs: [job], ctx: context, now: baseTime }), refused);
      await assert.rejects(adapter.getJobs({ jobIds: [job.id], ctx: context }), refused);
      await assert.rejects(
        adapter.runInTransaction(async () => assert.fail("must not run"), context),
        refused,
      );
    };
    for (const ctx of [finished, ...foreignContexts()]) await attempt(ctx);
    await adapter.provideContext(attempt);
    assert.deepEqual(await adapter.getJobs({ jobIds: [job.id] }), [undefined]);
  });

  test("does not take an ordinary error for a transient one", async ({ adapter }) => {
    for (const error of [
      new Error("bug"),
      new TypeError("bug"),
      null,
      undefined,
      "text",
      { code: 7 },
      Object.create(null),
    ]) {
      assert.equal(adapter.isTransientError(error), false);
    }
  });
};
