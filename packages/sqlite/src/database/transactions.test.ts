import { AdapterClosedError, StateNotInTransactionError, TransactionSelfDeadlockError } from "leasehold";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claimAll, completion, createGate, newJob } from "../testing/jobs.ts";
import { createTestStore, type TestStore } from "../testing/store.ts";

let store: TestStore;

beforeEach(async () => {
  store = await createTestStore();
});

afterEach(() => store.destroy());

const countRows = (table: string): Promise<unknown> =>
  store.adapter
    .provideContext(async ({ client }) => client.prepare(`SELECT count(*) AS n FROM ${table}`).get())
    .then((row) => (row as { n: number }).n);

describe("the user's own tables", () => {
  beforeEach(() =>
    store.adapter.provideContext(async ({ client }) => {
      client.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL)");
    }),
  );

  it("a row and its job are committed together", async () => {
    const { adapter } = store;
    const job = newJob();
    await adapter.runInTransaction(async (ctx) => {
      ctx.client.prepare("INSERT INTO orders VALUES (?, ?)").run("order-1", "new");
      await adapter.createJobs({ jobs: [job], ctx });
    });
    expect(await countRows("orders")).toBe(1);
    expect((await adapter.getJobs({ jobIds: [job.id] }))[0]?.status).toBe("pending");
  });

  it("a rollback leaves neither", async () => {
    const { adapter } = store;
    const job = newJob();
    const transaction = adapter.runInTransaction(async (ctx) => {
      ctx.client.prepare("INSERT INTO orders VALUES (?, ?)").run("order-1", "new");
      await adapter.createJobs({ jobs: [job], ctx });
      throw new Error("no stock");
    });
    await expect(transaction).rejects.toThrow("no stock");
    expect(await countRows("orders")).toBe(0);
    expect(await adapter.getJobs({ jobIds: [job.id] })).toEqual([undefined]);
  });

  it("a completion is committed with the user's writes, or not at all", async () => {
    const { adapter } = store;
    await adapter.createJobs({ jobs: [newJob()] });
    const [job] = await claimAll(adapter);
    const complete = (fails: boolean): Promise<void> =>
      adapter.runInTransaction(async (ctx) => {
        await adapter.lockHeldJobs({ leases: [{ jobId: job!.id, leaseToken: job!.leaseToken! }], ctx });
        ctx.client.prepare("INSERT INTO orders VALUES (?, ?)").run("order-1", "paid");
        await adapter.commitOutcomes({ outcomes: [{ ...completion(job!), locked: true }], ctx });
        if (fails) throw new Error("changed my mind");
      });
    await expect(complete(true)).rejects.toThrow("changed my mind");
    expect(await countRows("orders")).toBe(0);
    expect((await adapter.getJobs({ jobIds: [job!.id] }))[0]).toEqual(job);
    await complete(false);
    expect(await countRows("orders")).toBe(1);
    expect((await adapter.getJobs({ jobIds: [job!.id] }))[0]?.status).toBe("completed");
  });

  it("a database error spoils the transaction, even if it is caught", async () => {
    const { adapter } = store;
    const [first, second] = [newJob(), newJob()];
    const transaction = adapter.runInTransaction(async (ctx) => {
      await adapter.createJobs({ jobs: [first], ctx });
      ctx.client.exec("DROP TABLE leasehold_job_blocker");
      const outcomes = [{ ...completion({ ...first, leaseToken: null } as never) }];
      await expect(adapter.commitOutcomes({ outcomes, ctx })).rejects.toThrow(/no such table/);
      await expect(adapter.createJobs({ jobs: [second], ctx })).rejects.toThrow(/no such table/);
    });
    await expect(transaction).rejects.toThrow(/no such table/);
    expect(await adapter.getJobs({ jobIds: [first.id, second.id] })).toEqual([undefined, undefined]);
    expect((await adapter.createJobs({ jobs: [first] }))[0]?.deduplicated).toBe(false);
  });
});

describe("a call that would wait for its own transaction", () => {
  it("throws at once", async () => {
    const { adapter } = store;
    await adapter.runInTransaction(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      await expect(adapter.createJobs({ jobs: [newJob()] })).rejects.toBeInstanceOf(
        TransactionSelfDeadlockError,
      );
      for (const open of [adapter.runInTransaction, adapter.provideContext]) {
        await expect(open(async () => undefined)).rejects.toBeInstanceOf(TransactionSelfDeadlockError);
      }
    });
  });

  it("throws inside a savepoint and inside provideContext too", async () => {
    const { adapter } = store;
    const attempt = (): Promise<void> =>
      expect(claimAll(adapter)).rejects.toBeInstanceOf(TransactionSelfDeadlockError);
    await adapter.runInTransaction((ctx) => adapter.runInTransaction(attempt, ctx));
    await adapter.provideContext(attempt);
  });

  it("is not mistaken for one that outlives its transaction", async () => {
    const { adapter } = store;
    let detached: Promise<unknown> = Promise.resolve();
    const gate = createGate();
    await adapter.runInTransaction(async () => {
      detached = gate.opened.then(() => adapter.createJobs({ jobs: [newJob()] }));
    });
    const second = adapter.runInTransaction(async () => {
      gate.open();
      await new Promise((resolve) => setImmediate(resolve));
    });
    await Promise.all([second, expect(detached).resolves.toHaveLength(1)]);
  });

  it("may read: it sees what is committed", async () => {
    const { adapter } = store;
    await adapter.runInTransaction(async (ctx) => {
      const job = newJob();
      await adapter.createJobs({ jobs: [job], ctx });
      expect(await adapter.getJobs({ jobIds: [job.id] })).toEqual([undefined]);
    });
  });
});

it("an open transaction holds up the writes of others, in the order they came", async () => {
  const { adapter } = store;
  const gate = createGate();
  const start = (input: string): Promise<unknown> =>
    adapter.createJobs({ jobs: [newJob({ input })], now: 1 });
  const first = adapter.runInTransaction(async (ctx) => {
    await gate.opened;
    await adapter.createJobs({ jobs: [newJob({ input: "first" })], ctx, now: 1 });
  });
  const waiting = [
    start("second"),
    adapter.runInTransaction((ctx) =>
      adapter.createJobs({ jobs: [newJob({ input: "third" })], ctx, now: 1 }),
    ),
    start("fourth"),
  ];
  gate.open();
  await Promise.all([first, ...waiting]);
  const inputs = (await claimAll(adapter)).map(({ input }) => input);
  expect(inputs).toEqual(["first", "second", "third", "fourth"]);
});

describe("savepoints", () => {
  it("that are opened at the same time run one after the other", async () => {
    const { adapter } = store;
    const [kept, undone] = [newJob(), newJob()];
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
    const { adapter } = store;
    const result = await adapter.runInTransaction((ctx) =>
      adapter.runInTransaction(() => adapter.runInTransaction(async () => "innermost", ctx), ctx),
    );
    expect(result).toBe("innermost");
  });

  it("that were not awaited end with the transaction", async () => {
    const { adapter } = store;
    const job = newJob();
    const gate = createGate();
    let forgotten: Promise<unknown> = Promise.resolve();
    await adapter.runInTransaction(async (ctx) => {
      forgotten = adapter.runInTransaction(async (inner) => {
        await gate.opened;
        await adapter.createJobs({ jobs: [job], ctx: inner });
      }, ctx);
      await new Promise((resolve) => setImmediate(resolve));
    });
    gate.open();
    await expect(forgotten).rejects.toBeInstanceOf(StateNotInTransactionError);
    expect(await adapter.getJobs({ jobIds: [job.id] })).toEqual([undefined]);
  });
});

describe("close", () => {
  it("refuses the calls that were waiting, and waits for the open transaction", async () => {
    const { adapter } = store;
    const gate = createGate();
    const job = newJob();
    const transaction = adapter.runInTransaction(async (ctx) => {
      await adapter.createJobs({ jobs: [job], ctx });
      await gate.opened;
    });
    await new Promise((resolve) => setImmediate(resolve));
    const waiting = adapter.createJobs({ jobs: [newJob()] });
    const closing = adapter.close();
    await expect(waiting).rejects.toBeInstanceOf(AdapterClosedError);
    gate.open();
    await Promise.all([transaction, closing]);
    const again = await createTestStore({ file: store.file });
    expect((await again.adapter.getJobs({ jobIds: [job.id] }))[0]?.id).toBe(job.id);
    await again.adapter.close();
  });

  it("from inside a transaction does not wait for it", async () => {
    const { adapter } = store;
    const transaction = adapter.runInTransaction(() => adapter.close());
    await expect(transaction).rejects.toThrow(/./);
  });
});

it(
  "chains of blockers of any length fail, revive and complete without recursion",
  { timeout: 60_000 },
  async () => {
    const { adapter } = store;
    const length = 5_000;
    const first = newJob();
    await adapter.createJobs({ jobs: [first] });
    await adapter.runInTransaction(async (ctx) => {
      let previous = first.id;
      for (let index = 1; index < length; index += 1) {
        const job = newJob({ awaitsBlockers: true });
        await adapter.createJobs({ jobs: [job], ctx });
        await adapter.addJobBlockers({ jobId: job.id, blockerSequenceIds: [previous], ctx });
        previous = job.id;
      }
    });
    const [failed] = await adapter.commitOutcomes({
      outcomes: [{ kind: "fail", jobId: first.id, leaseToken: null, reason: "unrecoverable", error: null }],
    });
    expect(failed?.kind === "applied" && failed.cascaded).toHaveLength(length - 1);
    const [redriven] = await adapter.redriveJobs({ jobIds: [first.id] });
    expect(redriven?.revived).toHaveLength(length - 1);
  },
);
