import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { isTransientPgError } from "../database/errors.ts";
import { newSchemaName } from "../testing/fixtures.ts";
import { createPostgresJsStateProvider, type PostgresJsTransactionContext } from "./postgres-js.ts";

type Context = PostgresJsTransactionContext<postgres.TransactionSql>;

const options = { fetch_types: false, onnotice: () => {}, backoff: () => 0.01 };
// One connection: whoever comes after the loss gets the one that was lost, connected again.
const sql = postgres(inject("postgres18Url"), { ...options, max: 1 });

const admin = postgres(inject("postgres18Url"), { ...options, max: 1 });

const table = newSchemaName();

const provider = createPostgresJsStateProvider({ sql });

beforeAll(() => admin.unsafe(`CREATE TABLE ${table} (x int)`));

beforeEach(() => admin.unsafe(`TRUNCATE ${table}`));

afterAll(async () => {
  await admin.unsafe(`DROP TABLE ${table}`);
  await Promise.all([sql.end(), admin.end()]);
});

const insert = { sql: `INSERT INTO ${table} VALUES (1)`, params: [] };

const terminate = { sql: "SELECT pg_terminate_backend(pg_backend_pid())", params: [] };

/** Ends the connection of the transaction, and lets others use the pool again. */
const loseConnection = async (ctx: Context): Promise<void> => {
  const [row] = await ctx.sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  await admin`SELECT pg_terminate_backend(${row!.pid}, 5000)`;
  await sql`SELECT 1`;
};

const transactions: Record<string, (ctx: Context) => Promise<unknown>> = {
  "whose own statement tells of it": (ctx) => provider.executeSql(ctx, terminate),
  "that catches the error and continues": async (ctx) => {
    await provider.executeSql(ctx, terminate).catch(() => {});
    await provider.executeSql(ctx, insert);
  },
  "that catches the error and returns": async (ctx) => {
    await provider.executeSql(ctx, insert);
    await provider.executeSql(ctx, terminate).catch(() => {});
  },
  "that was doing something else": async (ctx) => {
    await loseConnection(ctx);
    await ctx.sql`INSERT INTO ${ctx.sql(table)} VALUES (1)`;
  },
  "that had nothing more to do": async (ctx) => {
    await provider.executeSql(ctx, insert);
    await loseConnection(ctx);
  },
  "that fails for another reason": async (ctx) => {
    await provider.executeSql(ctx, insert);
    await loseConnection(ctx);
    throw new Error("something else");
  },
  "in a savepoint": (ctx) => provider.runInSavepoint!((inner) => provider.executeSql(inner, terminate), ctx),
  "in a savepoint that was doing something else": (ctx) =>
    provider.runInSavepoint!(async (inner) => {
      await loseConnection(inner);
      await provider.executeSql(inner, insert);
    }, ctx),
  "after a savepoint whose error is caught": async (ctx) => {
    await provider.runInSavepoint!((inner) => provider.executeSql(inner, terminate), ctx).catch(() => {});
    await provider.executeSql(ctx, insert);
  },
};

describe("a transaction of postgres.js that loses its connection", () => {
  // A second transaction is the next to use the connection. Nothing of the first may get into it.
  it.each(Object.keys(transactions))("leaves nothing behind: %s", async (name) => {
    let runs = 0;
    const lost = provider.runInTransaction(async (ctx) => {
      runs += 1;
      await transactions[name]!(ctx as Context).finally(() => (runs -= 1));
    });
    await expect(lost).rejects.toSatisfy(isTransientPgError);
    expect(runs).toBe(0);
    const look = () =>
      provider.runInTransaction(async (ctx) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return provider.executeSql(ctx, { sql: `SELECT x FROM ${table}`, params: [] });
      });
    // The library reports the end of a connection once more to whoever uses it next.
    const rows = await look().catch((error: unknown) => {
      expect(error).toSatisfy(isTransientPgError);
      return look();
    });
    expect(rows).toEqual([]);
  });
});

describe("the transaction of postgres.js in a callback", () => {
  const values = (rows: Iterable<unknown>) => [...rows].map((row) => (row as { value: number }).value);

  it("has savepoints of every form", async () => {
    const results = await provider.runInTransaction(async (ctx) => {
      const { sql: transaction } = ctx as Context;
      const named = await transaction.savepoint("mine", (inner) => inner`SELECT 1 AS value`);
      const [first, second] = await transaction.savepoint((inner) => [
        inner`SELECT 2 AS value`,
        inner`SELECT 3 AS value`,
      ]);
      const template = transaction.savepoint as unknown as typeof transaction;
      return [named, first, second, await template`SELECT 4 AS value`].map((rows) => values(rows!));
    });
    expect(results).toEqual([[1], [2], [3], [4]]);
  });

  it("continues after a savepoint that fails", async () => {
    const rows = await provider.runInTransaction(async (ctx) => {
      const { sql: transaction } = ctx as Context;
      const failed = transaction.savepoint((inner) => inner`SELECT 1 / 0`);
      await expect(failed).rejects.toMatchObject({ code: "22012" });
      return transaction`SELECT 5 AS value`;
    });
    expect(values(rows)).toEqual([5]);
  });

  it("is not lost because the connection to something else is", async () => {
    const elsewhere = Object.assign(new Error("elsewhere"), { code: "ECONNRESET", errno: -104 });
    const fail = () => Promise.reject(elsewhere);
    await expect(provider.runInTransaction(fail)).rejects.toBe(elsewhere);
    await provider.runInTransaction(async (ctx) => {
      await expect(provider.runInSavepoint!(fail, ctx)).rejects.toBe(elsewhere);
      await expect((ctx as Context).sql.savepoint(fail)).rejects.toBe(elsewhere);
      await provider.executeSql(ctx, insert);
    });
    expect(await provider.executeSql(undefined, { sql: `SELECT x FROM ${table}`, params: [] })).toEqual([
      { x: 1 },
    ]);
  });

  it("is rolled back if a file for a query is missing", async () => {
    const missing = provider.runInTransaction((ctx) => (ctx as Context).sql.file("/missing.sql"));
    await expect(missing).rejects.toMatchObject({ code: "ENOENT" });
    expect(await provider.executeSql(undefined, { sql: "SELECT 1 AS x", params: [] })).toEqual([{ x: 1 }]);
  });

  it("can build a query from parts of others", async () => {
    const rows = await provider.runInTransaction(async (ctx) => {
      const { sql: transaction } = ctx as Context;
      const part = transaction`${6} + 1`;
      return transaction`SELECT ${part} AS value`;
    });
    expect(values(rows)).toEqual([7]);
  });
});
