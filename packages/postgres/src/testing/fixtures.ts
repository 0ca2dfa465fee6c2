import { randomBytes } from "node:crypto";
import pg from "pg";
import postgres from "postgres";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPostgresJsStateProvider } from "../providers/postgres-js.ts";
import type { PgStateProvider } from "../database/provider.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";

export interface Fixture {
  // oxlint-disable-next-line typescript/no-explicit-any -- the suites take adapters of every context type
  readonly adapter: PgStateAdapter<any, any>;
  // oxlint-disable-next-line typescript/no-explicit-any -- the same
  readonly provider: PgStateProvider<any, any>;
  readonly url: string;
  readonly schema: string;
  destroy(): Promise<void>;
}

const throughDriver =
  "The same statements are tested through pg and postgres.js themselves, and through Prisma.";

/** For clients that hand the adapter's statements on as they are, to a server on which all of them are tested. */
export const partsTestedThroughDriver = { flow: throughDriver, history: throughDriver } as const;

/** A schema that no other test uses. */
export const newSchemaName = (): string => `test_${randomBytes(8).toString("hex")}`;

export const dropSchema = async (url: string, schema: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await client.end();
};

/** An adapter over a schema of its own, through `pg`. */
export const createPgFixture = async (url: string, prepareStatements = true): Promise<Fixture> => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const provider = createPgPoolStateProvider({ pool, prepareStatements });
  const adapter = await createPgStateAdapter({ stateProvider: provider, schema });
  return {
    adapter,
    provider,
    url,
    schema,
    destroy: async () => {
      await adapter.close();
      await pool.end();
      await dropSchema(url, schema);
    },
  };
};

/** The same through `postgres`. */
export const createPostgresJsFixture = async (
  url: string,
  prepareStatements = true,
): Promise<Fixture & { readonly sql: postgres.Sql }> => {
  const schema = newSchemaName();
  const sql = postgres(url, { max: 10, prepare: prepareStatements, onnotice: () => {} });
  const provider = createPostgresJsStateProvider({ sql, prepareStatements });
  const adapter = await createPgStateAdapter({ stateProvider: provider, schema });
  return {
    adapter,
    provider,
    url,
    sql,
    schema,
    destroy: async () => {
      await adapter.close();
      // It would wait for a transaction that a handler was abandoned in.
      await sql.end({ timeout: 5 });
      await dropSchema(url, schema);
    },
  };
};
