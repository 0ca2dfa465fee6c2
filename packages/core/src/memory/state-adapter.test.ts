import { afterAll, describe, expect, it } from "vitest";
import { stateAdapterConformance } from "../conformance/state-adapter.ts";
import { baseTime, newJob } from "../conformance/state-fixture.ts";
import { completion, createStateScenario, failure } from "../conformance/state-scenario.ts";
import type { NewJob } from "../store/contract/creation.ts";
import { TransactionSelfDeadlockError } from "../store/errors.ts";
import { createInProcessStateAdapter, type InProcessStateAdapter } from "./state-adapter.ts";

stateAdapterConformance(
  { describe, it, afterAll },
  {
    create: async () => {
      const adapter = createInProcessStateAdapter();
      return { adapter, destroy: () => adapter.close() };
    },
  },
);

const names = { queue: "queue", typeName: "type" };

const create = (
  adapter: InProcessStateAdapter,
  overrides: Partial<NewJob> = {},
): ReturnType<typeof adapter.createJobs> =>
  adapter.createJobs({ jobs: [newJob({ ...names, ...overrides })], now: baseTime });

describe("clock", () => {
  it("is the one it was given", async () => {
    const adapter = createInProcessStateAdapter({ clock: { now: () => 1_234 } });
    expect(await adapter.getTime()).toBe(1_234);
    const [created] = await adapter.createJobs({ jobs: [newJob(names)] });
    expect(created?.job.createdAt).toBe(1_234);
  });
});

describe("a call that would wait for its own transaction", () => {
  it("throws at once", async () => {
    const adapter = createInProcessStateAdapter();
    await adapter.runInTransaction(async () => {
      await expect(create(adapter)).rejects.toBeInstanceOf(TransactionSelfDeadlockError);
      await expect(adapter.runInTransaction(async () => {})).rejects.toBeInstanceOf(
        TransactionSelfDeadlockError,
      );
    });
  });

  it("throws from inside a savepoint and after any number of awaits too", async () => {
    const adapter = createInProcessStateAdapter();
    await adapter.runInTransaction((ctx) =>
      adapter.runInTransaction(async () => {
        await new Promise((resolve) => setImmediate(resolve));
        await expect(create(adapter)).rejects.toBeInstanceOf(TransactionSelfDeadlockError);
      }, ctx),
    );
  });

  it("is not mistaken for one that outlives its transaction", async () => {
    const adapter = createInProcessStateAdapter();
    let detached: Promise<unknown> = Promise.resolve();
    let proceed = (): void => {};
    await adapter.runInTransaction(async () => {
      const finished = new Promise<void>((resolve) => {
        proceed = resolve;
      });
      detached = finished.then(() => create(adapter));
    });
    const [, created] = await Promise.all([
      adapter.runInTransaction(async () => {
        proceed();
        await new Promise((resolve) => setImmediate(resolve));
      }),
      detached,
    ]);
    expect(created).toHaveLength(1);
  });

  it("may read: it sees what is committed", async () => {
    const adapter = createInProcessStateAdapter();
    await adapter.runInTransaction(async (ctx) => {
      const job = newJob(names);
      await adapter.createJobs({ jobs: [job], ctx });
      expect(await adapter.getJobs({ jobIds: [job.id] })).toEqual([undefined]);
    });
  });
});

describe("an open transaction", () => {
  it("holds up writes of others until it ends, in the order they came", async () => {
    const adapter = createInProcessStateAdapter();
    let proceed = (): void => {};
    const first = adapter.runInTransaction(async (ctx) => {
      await new Promise<void>((resolve) => {
        proceed = resolve;
      });
      await adapter.createJobs({ jobs: [newJob({ ...names, input: "first" })], ctx, now: baseTime });
    });
    const waiting = [
      create(adapter, { input: "second" }),
      adapter.runInTransaction((ctx) =>
        adapter.createJobs({ jobs: [newJob({ ...names, input: "third" })], ctx, now: baseTime }),
      ),
      create(adapter, { input: "fourth" }),
    ];
    await new Promise((resolve) => setImmediate(resolve));
    proceed();
    await Promise.all([first, ...waiting]);
    const claimed = await adapter.claimJobs({
      workerId: "worker",
      leaseToken: "token",
      leaseMs: 1_000,
      requests: [{ queue: names.queue, typeNames: null, limit: 10 }],
      limit: 10,
      now: baseTime,
    });
    expect(claimed.map(({ input }) => input)).toEqual(["first", "second", "third", "fourth"]);
  });

  it("lets others read, and shows them only what was there before it", async () => {
    const adapter = createInProcessStateAdapter();
    const scenario = createStateScenario(adapter);
    const { queue } = scenario;
    const blocker = await scenario.start({ priority: 1 });
    const first = await scenario.start();
    const running = await scenario.run(blocker);
    const waiting = await scenario.startBlocked([blocker]);
    const doomed = await scenario.start();
    const look = async (): Promise<unknown> => ({
      jobs: await adapter.getJobs({ jobIds: [blocker.id, first.id, waiting.id, doomed.id] }),
      sequences: await adapter.getSequences({ sequenceIds: [blocker.id, doomed.id] }),
      listed: await adapter.listJobs({
        filter: { queues: [queue] },
        order: "oldest",
        limit: 10,
        after: null,
      }),
      tree: await adapter.listJobs({
        filter: { rootSequenceId: doomed.id },
        order: "oldest",
        limit: 9,
        after: null,
      }),
      counts: (await adapter.countJobs({ filter: {} })).sort((a, b) => (a.status < b.status ? -1 : 1)),
      blockers: await adapter.getBlockers({ jobIds: [waiting.id] }),
      blocked: await adapter.listBlockedJobs({ sequenceId: blocker.id, limit: 10, after: null }),
      ahead: await adapter.countAhead({ jobId: doomed.id, cap: 10, now: baseTime }),
    });
    const before = await look();

    const reason = new Error("undo");
    const transaction = adapter.runInTransaction(async (ctx) => {
      const next = scenario.newJob({ sequenceId: blocker.id, sequenceIndex: 1, rootSequenceId: blocker.id });
      await adapter.createJobs({ jobs: [next], ctx, now: baseTime });
      const outcome = {
        jobId: blocker.id,
        leaseToken: running.leaseToken,
        ...completion,
        continuedToId: next.id,
      };
      await adapter.commitOutcomes({ outcomes: [outcome], ctx, now: baseTime });
      await adapter.runInTransaction(async (inner) => {
        await adapter.deleteSequences({ rootSequenceIds: [doomed.id], ctx: inner });
        await adapter.deleteSequences({ rootSequenceIds: [waiting.id], ctx: inner });
        await adapter.createJobs({
          jobs: [scenario.newJob({ id: doomed.id })],
          ctx: inner,
          now: baseTime + 1,
        });
        await adapter.cancelSequences({ sequenceIds: [first.id], error: "x", ctx: inner, now: baseTime });
        expect(await look()).toEqual(before);
      }, ctx);
      expect(await look()).toEqual(before);
      throw reason;
    });
    await expect(transaction).rejects.toBe(reason);
    expect(await look()).toEqual(before);
  });
});

describe("savepoints", () => {
  it("that run side by side take turns", async () => {
    const adapter = createInProcessStateAdapter();
    const [kept, undone] = [newJob(names), newJob(names)];
    await adapter.runInTransaction(async (ctx) => {
      const results = await Promise.allSettled([
        adapter.runInTransaction(async (inner) => {
          await adapter.createJobs({ jobs: [undone], ctx: inner });
          await new Promise((resolve) => setImmediate(resolve));
          throw new Error("undo");
        }, ctx),
        adapter.runInTransaction((inner) => adapter.createJobs({ jobs: [kept], ctx: inner }), ctx),
      ]);
      expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    });
    const [first, second] = await adapter.getJobs({ jobIds: [kept.id, undone.id] });
    expect([first?.id, second]).toEqual([kept.id, undefined]);
  });

  it("given the outer context from inside an inner one nest instead of waiting for themselves", async () => {
    const adapter = createInProcessStateAdapter();
    const result = await adapter.runInTransaction((ctx) =>
      adapter.runInTransaction(() => adapter.runInTransaction(async () => "innermost", ctx), ctx),
    );
    expect(result).toBe("innermost");
  });

  it("that nobody waited for end with the transaction", async () => {
    const adapter = createInProcessStateAdapter();
    const job = newJob(names);
    let proceed = (): void => {};
    let forgotten: Promise<unknown> = Promise.resolve();
    await adapter.runInTransaction(async (ctx) => {
      forgotten = adapter.runInTransaction(async (inner) => {
        await new Promise<void>((resolve) => {
          proceed = resolve;
        });
        await adapter.createJobs({ jobs: [job], ctx: inner });
      }, ctx);
      await new Promise((resolve) => setImmediate(resolve));
    });
    proceed();
    await expect(forgotten).rejects.toMatchObject({ code: "StateNotInTransaction" });
    expect(await adapter.getJobs({ jobIds: [job.id] })).toEqual([undefined]);
    expect(await create(adapter)).toHaveLength(1);
  });
});

describe("close", () => {
  it("refuses the calls that were waiting their turn", async () => {
    const adapter = createInProcessStateAdapter();
    let proceed = (): void => {};
    const transaction = adapter.runInTransaction(
      () =>
        new Promise<void>((resolve) => {
          proceed = resolve;
        }),
    );
    await new Promise((resolve) => setImmediate(resolve));
    const waiting = create(adapter);
    await adapter.close();
    proceed();
    await transaction;
    await expect(waiting).rejects.toMatchObject({ code: "AdapterClosed" });
  });
});

describe("long chains", () => {
  const length = 100_000;

  it("of blockers fail, revive and complete without recursion", { timeout: 300_000 }, async () => {
    const adapter = createInProcessStateAdapter();
    const scenario = createStateScenario(adapter);
    const first = await scenario.start();
    await adapter.runInTransaction(async (ctx) => {
      let previous = first.id;
      for (let index = 1; index < length; index += 1) {
        const job = newJob({ ...names, awaitsBlockers: true });
        await adapter.createJobs({ jobs: [job], ctx, now: baseTime });
        await adapter.addJobBlockers({ jobId: job.id, blockerSequenceIds: [previous], ctx, now: baseTime });
        previous = job.id;
      }
    });
    const failed = await scenario.endWorkerless(first, failure);
    expect(failed.kind === "applied" && failed.cascaded).toHaveLength(length - 1);
    const [redriven] = await adapter.redriveJobs({ jobIds: [first.id], now: baseTime });
    expect(redriven?.revived).toHaveLength(length - 1);
    const cancelled = await scenario.cancel(first);
    expect(cancelled.cascaded).toHaveLength(length - 1);
  });
});
