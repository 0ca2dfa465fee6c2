import { TransactionSelfDeadlockError } from "leasehold";
import { stateAdapterConformance } from "leasehold/testing";
import Database from "libsql";
import { rm } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { DriverUnavailableError } from "../database/errors.ts";
import { createSqliteStateAdapter } from "../state-adapter.ts";
import { claimAll, createGate, newJob } from "../testing/jobs.ts";
import { sampled } from "../testing/sampled.ts";
import { createTestFolder } from "../testing/store.ts";
import {
  createBetterSqlite3StateProvider,
  createNodeSqliteStateProvider,
  defaultDriver,
  type NodeSqliteDatabase,
} from "./drivers.ts";

describe("a database in memory, with one connection for everything", () => {
  stateAdapterConformance(sampled(2), {
    create: async () => {
      const adapter = await createSqliteStateAdapter({ file: ":memory:" });
      return { adapter, destroy: () => adapter.close() };
    },
  });

  it("lets reads wait for an open transaction, and throws for a read inside that transaction", async () => {
    const adapter = await createSqliteStateAdapter({ file: ":memory:" });
    const job = newJob();
    const gate = createGate();
    const transaction = adapter.runInTransaction(async (ctx) => {
      await adapter.createJobs({ jobs: [job], ctx });
      await expect(adapter.getJobs({ jobIds: [job.id] })).rejects.toBeInstanceOf(
        TransactionSelfDeadlockError,
      );
      await gate.opened;
      throw new Error("undo");
    });
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    const reading = adapter.getJobs({ jobIds: [job.id] });
    gate.open();
    await expect(transaction).rejects.toThrow("undo");
    expect(await reading).toEqual([undefined]);
    await adapter.close();
  });
});

describe("handles of the user's own", () => {
  it("get safe settings, are passed to transactions, and stay open", async () => {
    const folder = await createTestFolder();
    const database = new Database(join(folder, "jobs.db"));
    database.exec("PRAGMA synchronous = OFF");
    const adapter = await createSqliteStateAdapter({
      stateProvider: createBetterSqlite3StateProvider({ database }),
    });
    expect(database.prepare("PRAGMA synchronous").raw().get()).toEqual([2]);
    expect(database.prepare("PRAGMA journal_mode").raw().get()).toEqual(["wal"]);
    await adapter.runInTransaction(async (ctx) => {
      expect(ctx.client).toBe(database);
      ctx.client.exec("CREATE TABLE mine (id)");
      await adapter.createJobs({ jobs: [newJob()], ctx });
    });
    expect(await claimAll(adapter)).toHaveLength(1);
    await adapter.close();
    expect(database.prepare("SELECT count(*) FROM mine").raw().get()).toEqual([0]);
    database.close();
    await rm(folder, { recursive: true });
  });

  it("are left as they are with `settings: unchanged`", async () => {
    const folder = await createTestFolder();
    const database = new Database(join(folder, "jobs.db"));
    database.exec("PRAGMA synchronous = NORMAL");
    const stateProvider = createBetterSqlite3StateProvider({ database, settings: "unchanged" });
    const adapter = await createSqliteStateAdapter({ stateProvider });
    expect(database.prepare("PRAGMA synchronous").raw().get()).toEqual([1]);
    await adapter.close();
    database.close();
    await rm(folder, { recursive: true });
  });
});

const nodeSqlite = "node:sqlite";

if (isBuiltin(nodeSqlite))
  describe("node:sqlite (from Node 22.5 on)", () => {
    const open = async (): Promise<NodeSqliteDatabase> => {
      const { DatabaseSync } = (await import(nodeSqlite)) as {
        DatabaseSync: new (file: string) => NodeSqliteDatabase;
      };
      return new DatabaseSync(":memory:");
    };

    stateAdapterConformance(sampled(0), {
      create: async () => {
        const database = await open();
        const adapter = await createSqliteStateAdapter({
          stateProvider: createNodeSqliteStateProvider({ database }),
        });
        const destroy = async (): Promise<void> => {
          await adapter.close();
          database.close();
        };
        return { adapter, destroy };
      },
    });
  });

describe("the default driver", () => {
  afterEach(() => vi.restoreAllMocks());

  it.each([
    ["node:sqlite where the runtime has it", {}, nodeSqlite],
    ["libsql elsewhere, as in Node 20", undefined, "libsql"],
  ])("is %s", (_where, module, expected) => {
    vi.spyOn(process, "getBuiltinModule").mockReturnValue(module as never);
    expect(defaultDriver()).toBe(expected);
  });
});

if (!isBuiltin(nodeSqlite))
  it("a driver that is not there is an error that names it (needs a Node without node:sqlite)", async () => {
    await expect(createSqliteStateAdapter({ file: ":memory:", driver: nodeSqlite })).rejects.toMatchObject({
      code: "DriverUnavailable",
      driver: nodeSqlite,
      message: expect.stringContaining("needs Node.js 22.13"),
    });
  });

it.each([
  [{ code: "ERR_MODULE_NOT_FOUND", message: "Cannot find package" }, "run `npm install better-sqlite3`."],
  [{ code: "MODULE_NOT_FOUND", message: "Cannot find module" }, "run `npm install better-sqlite3`."],
  [{ message: 'Dynamic require of "path" is not supported' }, 'mark "better-sqlite3" as external.'],
  [{ code: "ERR_DLOPEN_FAILED", message: "wrong ELF class" }, "with `npm install better-sqlite3`."],
])("a driver that cannot be loaded is an error that ends with what to do", (reason, end) => {
  const cause = Object.assign(new Error(reason.message), reason);
  const error = new DriverUnavailableError("better-sqlite3", { cause });
  expect(error.message).toContain(reason.message);
  expect(error.message.endsWith(end)).toBe(true);
  expect(error.cause).toBe(cause);
});
