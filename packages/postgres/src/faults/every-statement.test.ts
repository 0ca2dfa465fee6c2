import { type LosingAdapter, lostStatementConformance, type TableDump } from "leasehold/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import type { PgStateProvider } from "../database/provider.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";

const url = inject("postgres15Url");
const schema = newSchemaName();
const pool = new pg.Pool({ connectionString: url, max: 5 });
const provider = createPgPoolStateProvider({ pool }) as unknown as PgStateProvider<object, object>;

class LostConnection extends Error {
  readonly code = "08006";
}

const openLosing = async (nth: number, when: "before" | "after"): Promise<LosingAdapter> => {
  let count = 0;
  let isArmed = false;
  const send = async <T>(run: () => Promise<T>): Promise<T> => {
    if (!isArmed) return run();
    count += 1;
    const isLost = count === nth;
    if (isLost && when === "before") throw new LostConnection("lost before the statement");
    const result = await run();
    if (isLost) throw new LostConnection("lost before the reply");
    return result;
  };
  const { executeLast } = provider;
  const faulty: PgStateProvider<object, object> = {
    ...provider,
    // The reply that is lost is that of the commit.
    runInTransaction: (callback, options) => send(() => provider.runInTransaction(callback, options)),
    executeSql: (ctx, statement) => send(() => provider.executeSql(ctx, statement)),
    ...(executeLast && { executeLast: (ctx, statement) => send(() => executeLast(ctx, statement)) }),
  };
  return {
    adapter: await open(faulty),
    arm: () => {
      isArmed = true;
    },
    disarm: () => {
      isArmed = false;
    },
    isReached: () => count >= nth,
  };
};

// Numbers of rows, which a transaction that is rolled back uses up, the version of the rules, and when running jobs are counted.
const countersOf: Readonly<Record<string, string>> = {
  job: " - 'position'",
  limit_delta: " - 'number'",
  limit_edit: " - '{number,count_at,count_until}'::text[]",
  limit_epoch: " - 'epoch'",
};

let tables: string[] = [];

/** The rows of every table. */
const dump = async (): Promise<TableDump> => {
  const parts = tables.map(
    (table) => `SELECT '${table}' AS name, string_agg(row::text, ' ' ORDER BY row::text) AS rows
      FROM (SELECT to_jsonb(t)${countersOf[table] ?? ""} AS row FROM ${schema}.${table} AS t) AS x`,
  );
  const { rows } = await pool.query<{ name: string; rows: string }>(parts.join(" UNION ALL "));
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]));
};

const reset = async (): Promise<void> => {
  const emptied = tables.filter((table) => table !== "limit_epoch" && table !== "migration");
  await pool.query(`TRUNCATE ${emptied.map((table) => `${schema}.${table}`).join()} RESTART IDENTITY`);
};

const open = (stateProvider: PgStateProvider<object, object>) =>
  createPgStateAdapter({
    stateProvider,
    schema,
    migrate: false,
    connectionRetryConfig: { maxAttempts: 1 },
  });

beforeAll(async () => {
  await createPgStateAdapter({ stateProvider: provider, schema });
  const { rows } = await pool.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '${schema}' ORDER BY 1`,
  );
  tables = rows.map(({ name }) => name);
}, 60_000);

afterAll(async () => {
  await pool.end();
  await dropSchema(url, schema);
});

lostStatementConformance(
  { describe, it, afterAll },
  { open: () => open(provider), openLosing, isLoss: (error) => error instanceof LostConnection, dump, reset },
);
