import { setTimeout as sleep } from "node:timers/promises";
import { type BaseStateAdapterContext, InvalidOptionError } from "leasehold/adapter";
import type { Migration } from "./migrations/migration.ts";
import type { PgStateProvider } from "./provider.ts";
import type { Tables } from "./tables.ts";
import { hasSqlState } from "./transient-errors.ts";

export interface MigrationStatus {
  readonly applied: readonly { readonly version: number; readonly name: string }[];
  /** What `migrate` would run, in this order. */
  readonly pending: readonly { readonly version: number; readonly name: string; readonly sql: string }[];
}

// oxlint-disable-next-line typescript/no-explicit-any -- migrations need no particular kind of context
type AnyProvider = PgStateProvider<any, any>;
type Context = BaseStateAdapterContext | undefined;

const readApplied = async (
  provider: AnyProvider,
  tables: Tables,
  ctx?: Context,
): Promise<{ version: number; name: string }[]> => {
  const [found] = await provider.executeSql(ctx, {
    sql: "SELECT to_regclass($1) IS NOT NULL AS found",
    params: [tables.migration],
  });
  if (found?.["found"] !== true) return [];
  const rows = await provider.executeSql(ctx, {
    sql: `SELECT version, name FROM ${tables.migration} ORDER BY version`,
    params: [],
  });
  return rows.map((row) => ({ version: Number(row["version"]), name: String(row["name"]) }));
};

const unapplied = (
  migrations: readonly Migration[],
  applied: readonly { readonly version: number }[],
): Migration[] => migrations.filter(({ version }) => !applied.some((done) => done.version === version));

export const migrationStatus = async (
  provider: AnyProvider,
  tables: Tables,
  migrations: readonly Migration[],
): Promise<MigrationStatus> => {
  const applied = await readApplied(provider, tables);
  return {
    applied,
    pending: unapplied(migrations, applied).map(({ version, name, statements }) => ({
      version,
      name,
      sql: statements(tables)
        .map((statement) => `${statement};\n`)
        .join(""),
    })),
  };
};

/** The lock is the transaction's, so it works through a pooler, and ends with the connection that held it. */
const tryToLock = async (provider: AnyProvider, tables: Tables, ctx: Context): Promise<boolean> => {
  const [row] = await provider.executeSql(ctx, {
    sql: "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked",
    params: [`leasehold migrations of ${tables.schema}`],
  });
  return row?.["locked"] === true;
};

const prepareSchema = async (provider: AnyProvider, tables: Tables, ctx: Context): Promise<void> => {
  const [found] = await provider.executeSql(ctx, {
    sql: "SELECT to_regnamespace($1) IS NOT NULL AS found",
    params: [tables.schema],
  });
  // Not merely IF NOT EXISTS: that asks for the right to create schemas even where there is nothing to create.
  if (found?.["found"] !== true) {
    await provider.executeSql(ctx, { sql: `CREATE SCHEMA ${tables.schema}`, params: [] });
  }
  await provider.executeSql(ctx, {
    sql: `CREATE TABLE IF NOT EXISTS ${tables.migration} (
      version integer PRIMARY KEY,
      name text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`,
    params: [],
  });
};

const lockTimeoutMs = 1_000;

/** Whether an index can be built in the transaction: there are no jobs yet, or no other connection to hold up. */
const holdsNobodyUp = async (provider: AnyProvider, tables: Tables, ctx: Context): Promise<boolean> => {
  if (provider.hasSingleConnection === true) return true;
  const [row] = await provider.executeSql(ctx, {
    sql: `SELECT NOT EXISTS (SELECT FROM ${tables.job}) AS empty`,
    params: [],
  });
  return row?.["empty"] === true;
};

const secondConnectionMs = 5_000;

/** The lock keeps one connection. A pool that has no other would wait for itself for ever. */
const assertSecondConnection = async (provider: AnyProvider): Promise<void> => {
  const done = new AbortController();
  const tooLate = async (): Promise<never> => {
    await sleep(secondConnectionMs, undefined, { signal: done.signal });
    throw new InvalidOptionError(
      "stateProvider",
      "must have a second connection to spare for this migration, and gave none within 5 s: allow its pool at least two",
    );
  };
  try {
    await Promise.race([provider.executeSql(undefined, { sql: "SELECT 1", params: [] }), tooLate()]);
  } finally {
    done.abort();
  }
};

const applyMigration = async (
  provider: AnyProvider,
  tables: Tables,
  migration: Migration,
  ctx: Context,
): Promise<void> => {
  const run = async (own: Context, change = (sql: string) => sql): Promise<void> => {
    for (const sql of migration.statements(tables))
      await provider.executeSql(own, { sql: change(sql), params: [], alone: own === undefined });
  };
  // A step that changes a table needs it to itself for a moment. While it waits for that, everybody else waits behind
  // it: so it waits briefly, and tries again later.
  const limitWaiting = (): Promise<unknown> =>
    provider.executeSql(ctx, { sql: `SET LOCAL lock_timeout = '${lockTimeoutMs}ms'`, params: [] });
  if (migration.outsideTransaction === true && (await holdsNobodyUp(provider, tables, ctx))) {
    await limitWaiting();
    await run(ctx, (sql) => sql.replace(" INDEX CONCURRENTLY ", " INDEX "));
  } else if (migration.outsideTransaction === true) {
    await assertSecondConnection(provider);
    // The transaction that holds the lock stays open meanwhile; the work itself happens on another connection. The
    // setting keeps it from being ended for its idleness, and as a statement without a snapshot it lets go of the last
    // one: `CREATE INDEX CONCURRENTLY` waits for all of those.
    await provider.executeSql(ctx, {
      sql: "SET LOCAL idle_in_transaction_session_timeout = 0",
      params: [],
    });
    // Not by `provideContext`: `postgres` with `fetch_types: false` never hands out a connection it has to open for that.
    await run(undefined);
  } else {
    await limitWaiting();
    await run(ctx);
  }
  await provider.executeSql(ctx, {
    sql: `INSERT INTO ${tables.migration} (version, name) VALUES ($1, $2)`,
    params: [migration.version, migration.name],
  });
};

const lockNotAvailable = "55P03";
const lockPollMs = 50;
const retryDelayMs = 500;

/**
 * Brings the schema up to date. Any number of processes may do so at once: one works, the others wait and find nothing
 * left to do. A step that is interrupted is run again the next time.
 *
 * They wait outside any transaction: one that waited for the lock would keep a snapshot, and a step that builds an index
 * concurrently waits for snapshots. PostgreSQL would not see that the two wait for each other.
 */
export const migrate = async (
  provider: AnyProvider,
  tables: Tables,
  migrations: readonly Migration[],
): Promise<void> => {
  const tryToApply = (migration: Migration): Promise<boolean> =>
    provider.runInTransaction(async (ctx) => {
      if (!(await tryToLock(provider, tables, ctx))) return false;
      await prepareSchema(provider, tables, ctx);
      const applied = await readApplied(provider, tables, ctx);
      if (unapplied([migration], applied).length > 0) await applyMigration(provider, tables, migration, ctx);
      return true;
    });
  const apply = async (migration: Migration): Promise<boolean> => {
    try {
      return await tryToApply(migration);
    } catch (error) {
      if (!hasSqlState(error, lockNotAvailable)) throw error;
      await sleep(retryDelayMs);
      return false;
    }
  };
  for (const migration of unapplied(migrations, await readApplied(provider, tables))) {
    while (!(await apply(migration))) await sleep(lockPollMs);
  }
};
