import pg from "pg";
import { afterAll } from "vitest";
import { createPgStateAdapter } from "../state-adapter.ts";
import type { Fixture } from "./fixtures.ts";

interface Store {
  readonly fixture: Fixture;
  /** Brings the tables back to what the migrations have left in them. */
  empty(): Promise<void>;
  destroy(): Promise<void>;
}

const openStore = async (fixture: Fixture): Promise<Store> => {
  const { url, schema } = fixture;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'",
    [schema],
  );
  // Not DELETE: the server estimates the number of rows by the pages, which would still be there.
  const statements = [
    `TRUNCATE ${tables.map(({ name }) => `${schema}.${name}`).join(", ")} RESTART IDENTITY`,
  ];
  for (const { name } of tables) {
    const { rows } = await client.query<{ first: string | null }>(
      `SELECT jsonb_agg(t)::text AS first FROM ${schema}.${name} AS t`,
    );
    const first = rows[0]?.first ?? null;
    if (first === null) continue;
    statements.push(
      `INSERT INTO ${schema}.${name}
        SELECT * FROM jsonb_populate_recordset(NULL::${schema}.${name}, ${pg.escapeLiteral(first)}::jsonb)`,
    );
  }
  const script = ["BEGIN", "SET LOCAL lock_timeout = '2s'", ...statements, "COMMIT"].join(";\n");
  return {
    fixture,
    empty: async () => {
      await client.query(script);
    },
    destroy: async () => {
      await client.end();
      await fixture.destroy();
    },
  };
};

/**
 * Hands out stores that earlier tests have used and that are empty again. Migrating a new schema and dropping it takes a fifth
 * of a second of CPU time, and the tests of the contract want hundreds of stores. The adapter is a new one each time.
 */
export const reuseStores = (create: () => Promise<Fixture>): (() => Promise<Fixture>) => {
  const free: Store[] = [];
  afterAll(async () => {
    for (const store of free) await store.destroy();
  });
  return async () => {
    const store = free.pop() ?? (await openStore(await create()));
    const { fixture } = store;
    const { provider: stateProvider, schema } = fixture;
    const adapter = await createPgStateAdapter({ stateProvider, schema, migrate: false });
    return {
      ...fixture,
      adapter,
      destroy: async () => {
        await adapter.close();
        try {
          await store.empty();
          free.push(store);
        } catch {
          // Something that the test has left behind has locked rows, and will have to end with the connections.
          await store.destroy();
        }
      },
    };
  };
};
