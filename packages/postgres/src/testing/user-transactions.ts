import { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import createKnex from "knex";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import postgres from "postgres";
import type { PgStateProvider } from "../database/provider.ts";
import { createDrizzleStateProvider } from "../providers/drizzle.ts";
import { createKnexStateProvider } from "../providers/knex.ts";
import { createKyselyStateProvider } from "../providers/kysely.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPGliteStateProvider } from "../providers/pglite.ts";
import { createPostgresJsStateProvider } from "../providers/postgres-js.ts";

/** A transaction that the user has begun. */
export interface UserTransaction {
  readonly ctx: object;
  /** Rolls back, and returns the connection to its pool. */
  rollBack(): Promise<unknown>;
}

/** A client with two connections, as a user opens it. */
export interface UserClient {
  readonly provider: PgStateProvider<object, object>;
  begin(): Promise<UserTransaction>;
  query(sql: string): Promise<readonly object[]>;
  close(): Promise<unknown>;
}

class RolledBack extends Error {}

/** For clients that run transactions as callbacks. */
const beginIn = (
  run: (callback: (ctx: object) => Promise<never>) => Promise<unknown>,
): Promise<UserTransaction> =>
  new Promise((resolve, reject) => {
    const ended = run(
      (ctx) =>
        new Promise((_resolve, fail) => {
          resolve({
            ctx,
            rollBack: () => {
              fail(new RolledBack());
              return ended;
            },
          });
        }),
    ).catch((error: unknown) => {
      if (!(error instanceof RolledBack)) reject(error);
    });
  });

const max = 2;

const openPool = (url: string): pg.Pool => new pg.Pool({ connectionString: url, max });

const asProvider = (provider: unknown): PgStateProvider<object, object> =>
  provider as PgStateProvider<object, object>;

export const userClients: Readonly<Record<string, (url: string) => UserClient>> = {
  pg: (url) => {
    const pool = openPool(url);
    return {
      provider: asProvider(createPgPoolStateProvider({ pool })),
      begin: async () => {
        const client = await pool.connect();
        await client.query("BEGIN");
        const rollBack = async (): Promise<void> => {
          await client.query("ROLLBACK");
          client.release();
        };
        return { ctx: { client }, rollBack };
      },
      query: async (sql) => (await pool.query(sql)).rows as object[],
      close: () => pool.end(),
    };
  },
  Drizzle: (url) => {
    const pool = openPool(url);
    const db = drizzle(pool);
    return {
      provider: asProvider(createDrizzleStateProvider({ db })),
      begin: () => beginIn((callback) => db.transaction((tx) => callback({ tx }))),
      query: async (sql) => (await pool.query(sql)).rows as object[],
      close: () => pool.end(),
    };
  },
  "Drizzle over postgres.js": (url) => {
    const client = postgres(url, { max, onnotice: () => {}, fetch_types: false });
    const db = drizzleOverPostgresJs(client);
    return {
      provider: asProvider(createDrizzleStateProvider({ db })),
      begin: () => beginIn((callback) => db.transaction((tx) => callback({ tx }))),
      query: (sql) => client.unsafe(sql),
      close: () => client.end(),
    };
  },
  Kysely: (url) => {
    const pool = openPool(url);
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
    return {
      provider: asProvider(createKyselyStateProvider({ db })),
      begin: () => beginIn((callback) => db.transaction().execute((trx) => callback({ trx }))),
      query: async (sql) => (await pool.query(sql)).rows as object[],
      close: () => db.destroy(),
    };
  },
  Knex: (url) => {
    const knex = createKnex({
      client: "pg",
      connection: url,
      pool: { min: 0, max },
      log: { warn: () => {} },
    });
    return {
      provider: asProvider(createKnexStateProvider({ knex })),
      begin: async () => {
        const trx = await knex.transaction();
        return { ctx: { trx }, rollBack: () => trx.rollback() };
      },
      query: async (sql) => ((await knex.raw(sql)) as { rows: object[] }).rows,
      close: () => knex.destroy(),
    };
  },
  "postgres.js": (url) => {
    const sql = postgres(url, { max, onnotice: () => {}, fetch_types: false });
    return {
      provider: asProvider(createPostgresJsStateProvider({ sql })),
      begin: () => beginIn((callback) => sql.begin((transaction) => callback({ sql: transaction }))),
      query: (text) => sql.unsafe(text),
      close: () => sql.end(),
    };
  },
  PGlite: () => {
    const db = new PGlite();
    return {
      provider: asProvider(createPGliteStateProvider({ db })),
      begin: () => beginIn((callback) => db.transaction((tx) => callback({ tx }))),
      query: async (sql) => (await db.query<object>(sql)).rows,
      close: () => db.close(),
    };
  },
};
