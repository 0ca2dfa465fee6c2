import { JobAttemptEndedError } from "leasehold/adapter";
import pg from "pg";
import { afterAll, describe, expect, inject, it } from "vitest";
import { createPgPoolStateProvider, type PgContext } from "./pg-pool.ts";

const pool = new pg.Pool({ connectionString: inject("postgres18Url"), max: 3 });

afterAll(() => pool.end());

const select = (sql: string) => ({ sql, params: [] });

describe("createPgPoolStateProvider", () => {
  const provider = createPgPoolStateProvider({ pool });

  it.each([undefined, null, {}, "pool", () => pool])("refuses what is no pool: %s", (wrong) => {
    expect(() => createPgPoolStateProvider({ pool: wrong as unknown as pg.Pool })).toThrow(
      expect.objectContaining({ code: "InvalidOption", option: "pool" }),
    );
  });

  it("knows its transactions while they last", async () => {
    let outlived: unknown;
    await provider.runInTransaction(async (ctx) => {
      outlived = ctx;
      expect(await provider.isInTransaction(ctx)).toBe(true);
    });
    expect(await provider.isInTransaction(outlived)).toBe(false);
    await provider.provideContext(async (ctx) => {
      expect(await provider.isInTransaction(ctx)).toBe(false);
    });
    for (const other of [undefined, null, 1, {}, { client: {} }, { client: null }])
      expect(await provider.isInTransaction(other)).toBe(false);
  });

  it("does not reuse the client of a handler that timed out and may still use it", async () => {
    let kept: pg.PoolClient | undefined;
    const givenUp = provider.runInTransaction(async ({ client }) => {
      kept = client;
      throw new JobAttemptEndedError("job-1", "timeout");
    });
    await expect(givenUp).rejects.toThrow(JobAttemptEndedError);
    await expect(kept!.query("SELECT 1")).rejects.toThrow(/closed|queryable/u);
    // Others use other clients.
    await provider.runInTransaction(async ({ client }) => expect(client).not.toBe(kept));
  });

  it("knows a transaction that its user has begun", async () => {
    const client = await pool.connect();
    expect(await provider.isInTransaction({ client })).toBe(false);
    await client.query("BEGIN");
    expect(await provider.isInTransaction({ client })).toBe(true);
    await client.query("SELECT 1 / 0").catch(() => {});
    // The status arrives after the error; at the second refusal it is known.
    await client.query("SELECT 1").catch(() => {});
    expect(await provider.isInTransaction({ client })).toBe(false);
    await client.query("ROLLBACK");
    client.release();
  });

  it("commits what succeeds, rolls back what fails, and passes the failure on", async () => {
    const name = `provider_${process.pid}`;
    await pool.query(`CREATE TABLE ${name} (x int)`);
    try {
      await provider.runInTransaction((ctx) =>
        provider.executeSql(ctx, select(`INSERT INTO ${name} VALUES (1) RETURNING x`)),
      );
      const failure = new Error("no");
      await expect(
        provider.runInTransaction(async (ctx) => {
          await provider.executeSql(ctx, select(`INSERT INTO ${name} VALUES (2) RETURNING x`));
          throw failure;
        }),
      ).rejects.toBe(failure);
      expect(await provider.executeSql(undefined, select(`SELECT x FROM ${name}`))).toEqual([{ x: 1 }]);
    } finally {
      await pool.query(`DROP TABLE ${name}`);
    }
  });

  it("survives that the server closes a connection in use, and the pool opens a new one", async () => {
    const useUntilEnded = async (ctx: PgContext<pg.PoolClient>): Promise<unknown> => {
      const [row] = await provider.executeSql(ctx, select("SELECT pg_backend_pid() AS pid"));
      const gone = new Promise((resolve) => {
        ctx.client.once("end", resolve);
      });
      await pool.query("SELECT pg_terminate_backend($1)", [row!["pid"]]);
      // No query is running at that moment, so there is only an event.
      await gone;
      return provider.executeSql(ctx, select("SELECT 1 AS one"));
    };
    await expect(provider.runInTransaction(useUntilEnded)).rejects.toThrow(/not queryable/);
    await expect(provider.provideContext(useUntilEnded)).rejects.toThrow(/not queryable/);
    for (let use = 0; use < 6; use += 1)
      expect(
        await provider.runInTransaction((ctx) => provider.executeSql(ctx, select("SELECT 1 AS one"))),
      ).toEqual([{ one: 1 }]);
  });

  it("leaves no listeners on the clients that it returns", async () => {
    const own = new pg.Pool({ connectionString: inject("postgres18Url"), max: 1 });
    const using = createPgPoolStateProvider({ pool: own });
    const listeners = async (): Promise<number> => {
      const client = await own.connect();
      const count = client.listenerCount("error");
      client.release();
      return count;
    };
    const before = await listeners();
    for (let use = 0; use < 20; use += 1) {
      await using.runInTransaction(async () => {});
      await using.provideContext(async () => {});
    }
    expect(await listeners()).toBe(before);
    await own.end();
  });

  it("prepares statements that have a name, unless that is turned off", async () => {
    const statement = { sql: "SELECT $1::int AS n", params: [7], name: "leasehold_provider_test" };
    const prepared = async (prepareStatements: boolean): Promise<number> => {
      const own = new pg.Pool({ connectionString: inject("postgres18Url"), max: 1 });
      const using = createPgPoolStateProvider({ pool: own, prepareStatements });
      expect(await using.executeSql(undefined, statement)).toEqual([{ n: 7 }]);
      expect(await using.executeSql(undefined, statement)).toEqual([{ n: 7 }]);
      const { rowCount } = await own.query("SELECT FROM pg_prepared_statements WHERE name = $1", [
        statement.name,
      ]);
      await own.end();
      return rowCount!;
    };
    expect(await prepared(true)).toBe(1);
    expect(await prepared(false)).toBe(0);
  });
});
