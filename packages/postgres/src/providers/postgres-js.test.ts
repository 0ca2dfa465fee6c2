import postgres from "postgres";
import { afterAll, describe, expect, inject, it } from "vitest";
import { createPostgresJsStateProvider } from "./postgres-js.ts";

const sql = postgres(inject("postgres18Url"), { max: 3, fetch_types: false, onnotice: () => {} });

afterAll(() => sql.end());

const select = (text: string) => ({ sql: text, params: [] });

describe("createPostgresJsStateProvider", () => {
  const provider = createPostgresJsStateProvider({ sql });

  it.each([undefined, null, {}, "sql", () => sql])("refuses what postgres() has not made: %s", (wrong) => {
    expect(() => createPostgresJsStateProvider({ sql: wrong as unknown as postgres.Sql })).toThrow(
      expect.objectContaining({ code: "InvalidOption", option: "sql" }),
    );
  });

  it("knows its transactions and their savepoints while they last", async () => {
    const outlived: unknown[] = [];
    await provider.runInTransaction(async (ctx) => {
      expect(await provider.isInTransaction(ctx)).toBe(true);
      outlived.push(ctx);
      await provider.runInSavepoint!(async (inner) => {
        expect(await provider.isInTransaction(inner)).toBe(true);
        outlived.push(inner);
      }, ctx);
      expect(await provider.isInTransaction(ctx)).toBe(true);
    });
    for (const ended of outlived) expect(await provider.isInTransaction(ended)).toBe(false);
    await provider.provideContext(async (ctx) => {
      expect(await provider.isInTransaction(ctx)).toBe(false);
    });
    for (const other of [undefined, null, 1, {}, { sql }, { sql: null }])
      expect(await provider.isInTransaction(other)).toBe(false);
  });

  it("knows a transaction that its user has begun", async () => {
    await sql.begin(async (own) => {
      expect(await provider.isInTransaction({ sql: own })).toBe(true);
    });
  });

  it("returns what the callback does, even an array", async () => {
    expect(await provider.runInTransaction(async () => [1, 2])).toEqual([1, 2]);
    expect(await provider.runInTransaction(async () => undefined)).toBeUndefined();
  });

  it("undoes a savepoint that fails, and only that", async () => {
    const rows = await provider.runInTransaction(async (ctx) => {
      await provider.executeSql(ctx, select("CREATE TEMPORARY TABLE kept (x int) ON COMMIT DROP"));
      await provider.executeSql(ctx, select("INSERT INTO kept VALUES (1)"));
      await provider.runInSavepoint!(async (inner) => {
        await provider.executeSql(inner, select("INSERT INTO kept VALUES (2)"));
        await provider.executeSql(inner, select("SELECT 1 / 0"));
      }, ctx).catch(() => {});
      return provider.executeSql(ctx, select("SELECT x FROM kept"));
    });
    expect(rows).toEqual([{ x: 1 }]);
  });
});
