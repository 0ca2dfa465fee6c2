import { drizzle } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import { CamelCasePlugin, Kysely, PostgresDialect, sql } from "kysely";
import { stateAdapterConformance } from "leasehold/testing";
import pg from "pg";
import postgres from "postgres";
import { describe, expect, inject, it } from "vitest";
import { createPgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName, partsTestedThroughDriver } from "../testing/fixtures.ts";
import { sampled } from "../testing/sampled.ts";
import { createDrizzleStateProvider } from "./drizzle.ts";
import { createKnexStateProvider } from "./knex.ts";
import { createKyselyStateProvider } from "./kysely.ts";
import { ignorePoolErrors } from "./pg-pool.ts";
import { createPGliteStateProvider } from "./pglite.ts";
import { createPrismaStateProvider } from "./prisma.ts";

const url = (): string => inject("postgres18Url");

describe.each<[string, string, (options: never) => unknown]>([
  ["Kysely", "db", createKyselyStateProvider],
  ["Drizzle", "db", createDrizzleStateProvider],
  ["PGlite", "db", createPGliteStateProvider],
  ["Knex", "knex", createKnexStateProvider],
  ["Prisma", "prisma", createPrismaStateProvider],
])("the provider for %s", (_name, option, create) => {
  it.each([undefined, null, {}, "db", new pg.Pool()])("refuses what it is not: %s", (wrong) => {
    const options = { [option]: wrong } as never;
    expect(() => create(options)).toThrow(expect.objectContaining({ code: "InvalidOption", option }));
  });
});

it("is not confused by plugins of Kysely that rename columns", async () => {
  const pool = new pg.Pool({ connectionString: url() });
  const db = new Kysely<object>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new CamelCasePlugin()],
  });
  const provider = createKyselyStateProvider({ db });
  const statement = { sql: "SELECT 1 AS some_column", params: [] };
  const row = [{ some_column: 1 }];
  expect(await provider.executeSql(undefined, statement)).toEqual(row);
  const inTransaction = await provider.runInTransaction(async (ctx) => {
    const { rows } = await sql`SELECT 1 AS some_column`.execute(ctx.trx);
    expect(rows).toEqual([{ someColumn: 1 }]);
    return provider.executeSql(ctx, statement);
  });
  expect(inTransaction).toEqual(row);
  await db.destroy();
});

describe("Drizzle over postgres.js", () => {
  stateAdapterConformance(sampled(1), {
    testedElsewhere: partsTestedThroughDriver,
    create: async () => {
      const schema = newSchemaName();
      const client = postgres(url(), { onnotice: () => {} });
      const stateProvider = createDrizzleStateProvider({ db: drizzleOverPostgresJs(client) });
      const adapter = await createPgStateAdapter({ stateProvider, schema });
      const destroy = async (): Promise<void> => {
        await adapter.close();
        await client.end();
        await dropSchema(url(), schema);
      };
      return { adapter, destroy };
    },
  });
});

describe.each([
  ["ignorePoolErrors", (pool: pg.Pool) => ignorePoolErrors(pool)],
  ["the provider for Drizzle", (pool: pg.Pool) => void createDrizzleStateProvider({ db: drizzle(pool) })],
])("%s", (_name, protect) => {
  it("keeps the process alive when a connection in use is lost", async () => {
    const pool = new pg.Pool({ connectionString: url() });
    for (let again = 0; again < 3; again += 1) protect(pool);
    expect(pool.listenerCount("error")).toBe(1);
    const client = await pool.connect();
    const gone = new Promise((resolve) => {
      client.once("end", resolve);
    });
    const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    await pool.query("SELECT pg_terminate_backend($1)", [rows[0]!.pid]);
    await gone;
    client.release(true);
    await pool.end();
  });
});
