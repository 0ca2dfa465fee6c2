import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SqliteClient } from "../providers/drivers.ts";
import { claimAll, createGate, newJob } from "../testing/jobs.ts";
import { createTestStore, openRaw, type TestStore } from "../testing/store.ts";

let store: TestStore;

let others: TestStore[] = [];

beforeEach(async () => {
  store = await createTestStore();
});

afterEach(async () => {
  for (const other of others) await other.adapter.close();
  others = [];
  await store.destroy();
});

describe("a transaction that reads first and writes later", () => {
  it("fails at once, whatever the timeout, with the default BEGIN of SQLite", async () => {
    const [one, two] = [await openRaw(store.file), await openRaw(store.file)];
    one.exec("PRAGMA busy_timeout = 5000");
    one.exec("BEGIN");
    one.query("SELECT count(*) FROM leasehold_job", []);
    two.exec("CREATE TABLE other (id)");
    const startedAt = performance.now();
    expect(() => one.exec("CREATE TABLE another (id)")).toThrow(/locked/);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    one.exec("ROLLBACK");
    one.close();
    two.close();
  });

  it("waits its turn here, without blocking the process, and loses nothing", async () => {
    others = [await createTestStore({ file: store.file }), await createTestStore({ file: store.file })];
    const adapters = [store, ...others].map(({ adapter }) => adapter);
    const gate = createGate();
    let turns = 0;
    // Each reads the number of jobs, and then adds a job with this number as input. Lost updates would show as duplicates.
    const count = async (adapter: TestStore["adapter"]): Promise<void> =>
      adapter.runInTransaction(async (ctx) => {
        const [counted] = await adapter.countJobs({ filter: {}, ctx });
        if (turns === 0) await gate.opened;
        turns += 1;
        await adapter.createJobs({ jobs: [newJob({ input: String(counted?.count ?? 0) })], ctx });
      });
    const all = Array.from({ length: 10 }, () => adapters.map(count)).flat();
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
      if (ticks === 5) gate.open();
    }, 5);
    await Promise.all(all);
    clearInterval(ticking);
    const inputs = (await claimAll(store.adapter)).map(({ input }) => Number(input)).sort((a, b) => a - b);
    expect(inputs).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  it("gives up with a transient error when the lock is never released", async () => {
    const other = await createTestStore({ file: store.file, connectionRetryConfig: { maxWaitMs: 50 } });
    others = [other];
    await store.adapter.runInTransaction(async () => {
      const error = await other.adapter.createJobs({ jobs: [newJob()] }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "SqliteBusy" });
      expect(other.adapter.isTransientError(error)).toBe(true);
      await expect(other.adapter.runInTransaction(async () => undefined)).rejects.toMatchObject({
        code: "SqliteBusy",
      });
    });
    await other.adapter.createJobs({ jobs: [newJob()] });
  });
});

describe("a statement of the user on the lent connection", () => {
  /** Lends the connection while another connection has the write lock, which is released a little later. */
  const insertUnderLock = async (insert: (client: SqliteClient) => void): Promise<void> => {
    const other = await openRaw(store.file);
    await store.adapter.provideContext(async ({ client }) => client.exec("CREATE TABLE orders (id)"));
    other.exec("BEGIN IMMEDIATE");
    const inserted = store.adapter.provideContext(async ({ client }) => insert(client));
    inserted.catch(() => undefined);
    setTimeout(() => other.exec("COMMIT"), 50);
    try {
      await inserted;
    } finally {
      other.close();
    }
  };

  const countOrders = (): Promise<unknown> =>
    store.adapter.provideContext(async ({ client }) => client.prepare("SELECT id FROM orders").all().length);

  it("waits for a lock like a call of the adapter, and leaves the connection usable", async () => {
    const statements: unknown[] = [];
    await insertUnderLock((client) => {
      const statement = client.prepare("INSERT INTO orders VALUES (1) RETURNING id");
      statements.push(statement);
      expect(statement.all()).toHaveLength(1);
    });
    expect(await countOrders()).toBe(1);
    const [created] = await store.adapter.createJobs({ jobs: [newJob()] });
    expect(created?.job.status).toBe("pending");
    expect(await claimAll(store.adapter)).toHaveLength(1);
    expect(statements).toHaveLength(1);
  });

  it("is rolled back when the callback rejects", async () => {
    const failing = insertUnderLock((client) => {
      client.exec("INSERT INTO orders VALUES (1)");
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await countOrders()).toBe(0);
    await store.adapter.createJobs({ jobs: [newJob()] });
  });
});
