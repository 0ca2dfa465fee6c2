import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { TransactionRolledBackError } from "../database/errors.ts";
import { newSchemaName } from "../testing/fixtures.ts";
import { createPgPoolStateProvider } from "./pg-pool.ts";

const table = newSchemaName();

const insert = (n: number, name?: string) => ({
  sql: `INSERT INTO ${table} VALUES ($1::int)`,
  params: [n],
  name,
});
const fails = { sql: "SELECT 1 / $1::int AS n", params: [0] };

describe.each([false, true])("with pipeline: %s", (pipeline) => {
  let pool: pg.Pool;
  let provider: ReturnType<typeof createPgPoolStateProvider<pg.Pool>>;
  beforeEach(async () => {
    pool = new pg.Pool({ connectionString: inject("postgres18Url"), max: 2, pipeline } as pg.PoolConfig);
    provider = createPgPoolStateProvider({ pool });
    await pool.query(`CREATE TABLE ${table} (n int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)`);
  });
  afterEach(async () => {
    await pool.query(`DROP TABLE ${table}`);
    await pool.end();
  });

  const stored = async (): Promise<number[]> =>
    (await pool.query<{ n: number }>(`SELECT n FROM ${table} ORDER BY n`)).rows.map(({ n }) => n);

  const together = { beginsWithCall: true };

  it("the first statement is in the transaction that it begins", async () => {
    const failing = provider.runInTransaction(async (ctx) => {
      await provider.executeSql(ctx, insert(1, "together"));
      await ctx.client.query(`INSERT INTO ${table} VALUES (2)`);
      expect(await provider.isInTransaction(ctx)).toBe(true);
      throw new Error("undo");
    }, together);
    await expect(failing).rejects.toThrow("undo");
    expect(await stored()).toEqual([]);

    const level = await provider.runInTransaction(
      async (ctx) => provider.executeSql(ctx, { sql: "SHOW transaction_isolation", params: [] }),
      { ...together, isolationLevel: "serializable" },
    );
    expect(level).toEqual([{ transaction_isolation: "serializable" }]);
  });

  it("a first statement that fails leaves nothing behind, and its connection is not used again", async () => {
    for (const name of ["divides", undefined]) {
      const failing = provider.runInTransaction(
        (ctx) => provider.executeSql(ctx, { ...fails, name }),
        together,
      );
      await expect(failing).rejects.toThrow("division by zero");
    }
    // The same name once more: prepared on another connection, or prepared again.
    const again = { ...fails, params: [1], name: "divides" };
    for (let times = 0; times < 3; times += 1)
      expect(await provider.runInTransaction((ctx) => provider.executeSql(ctx, again), together)).toEqual([
        { n: 1 },
      ]);
  });

  it("a transaction without a statement sends nothing", async () => {
    expect(await provider.runInTransaction(async () => "nothing", together)).toBe("nothing");
    await expect(
      provider.runInTransaction(async () => {
        throw new Error("nothing");
      }, together),
    ).rejects.toThrow("nothing");
  });

  it("the last statement is committed with the transaction", async () => {
    const rows = await provider.runInTransaction(async (ctx) => {
      await provider.executeSql(ctx, insert(1));
      await ctx.client.query(`INSERT INTO ${table} VALUES (2)`);
      const { sql, params } = insert(3);
      const last = await provider.executeLast!(ctx, { sql: `${sql} RETURNING n`, params, name: "last" });
      // It has been committed, and is not in a transaction any more.
      expect(await stored()).toEqual([1, 2, 3]);
      expect(await provider.isInTransaction(ctx)).toBe(false);
      return last;
    }, together);
    expect(rows).toEqual([{ n: 3 }]);
    expect(await stored()).toEqual([1, 2, 3]);
  });

  it("nothing is committed with a last statement that fails", async () => {
    const failing = provider.runInTransaction(async (ctx) => {
      await provider.executeSql(ctx, insert(1));
      await provider.executeLast!(ctx, fails);
    }, together);
    await expect(failing).rejects.toThrow("division by zero");
    expect(await stored()).toEqual([]);
  });

  it("nothing is committed if the commit fails, or if an error was ignored", async () => {
    const twice = provider.runInTransaction(async (ctx) => {
      await provider.executeSql(ctx, insert(1));
      await provider.executeLast!(ctx, insert(1));
    }, together);
    await expect(twice).rejects.toMatchObject({ code: "23505" });

    const ignoring = provider.runInTransaction(async (ctx) => {
      await provider.executeSql(ctx, insert(2));
      await provider.executeSql(ctx, fails).catch(() => {});
    }, together);
    await expect(ignoring).rejects.toThrow(TransactionRolledBackError);
    expect(await stored()).toEqual([]);
  });

  it("a value that cannot be sent commits nothing", async () => {
    const unsendable = {
      toPostgres: () => {
        throw new Error("no value");
      },
    };
    const failing = provider.runInTransaction(async (ctx) => {
      await provider.executeSql(ctx, insert(1));
      await provider.executeLast!(ctx, { ...insert(2), params: [unsendable as never] });
    }, together);
    await expect(failing).rejects.toThrow("no value");
    expect(await stored()).toEqual([]);
  });
});
