import { type BaseStateAdapterContext, InvalidOptionError, withDeadline } from "leasehold/adapter";
import { setTimeout as sleep } from "node:timers/promises";
import { hasSqlState } from "../database/errors.ts";
import type { PgStateProvider } from "../database/provider.ts";
import type { Tables } from "../database/tables.ts";

/** One step of the schema. A released step is never changed; a change is a new step. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** Outside a transaction, each must be repeatable after an interruption. */
  readonly statements: (tables: Tables) => readonly string[];
  /** For statements that PostgreSQL refuses in a transaction, such as `CREATE INDEX CONCURRENTLY`. */
  readonly outsideTransaction?: boolean;
}

/** Which migrations the tables have, and which are still to be applied. */
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

/** The lock belongs to the transaction, so that it works through a pooler and ends with the connection. */
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
  // CREATE SCHEMA IF NOT EXISTS requires the right to create schemas even if the schema exists.
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

// Other statements on the table wait this long, and for the change itself.
const lockTimeoutMs = 50;

/**
 * Whether an index can be built in the transaction: the table is empty, or there is no other connection to block. Outside the
 * transaction, which would keep its lock on the table, and `DROP INDEX CONCURRENTLY` waits for all such locks.
 */
const blocksNoStatement = async (provider: AnyProvider, tables: Tables): Promise<boolean> => {
  if (provider.hasSingleConnection === true) return true;
  const [row] = await provider.executeSql(undefined, {
    sql: `SELECT NOT EXISTS (SELECT FROM ${tables.job}) AS empty`,
    params: [],
  });
  return row?.["empty"] === true;
};

const secondConnectionMs = 5_000;

/** The lock occupies one connection. A pool without a second one would wait without limit. */
const assertSecondConnection = async (provider: AnyProvider): Promise<void> => {
  const tooLate = () =>
    new InvalidOptionError(
      "stateProvider",
      "must have a second connection to spare for this migration, and gave none within 5 s: allow its pool at least two",
    );
  const probe = provider.executeSql(undefined, { sql: "SELECT 1", params: [] });
  await withDeadline(probe, secondConnectionMs, tooLate);
};

const applyMigration = async (
  provider: AnyProvider,
  tables: Tables,
  migration: Migration,
  { ctx, inTransaction }: { readonly ctx: Context; readonly inTransaction: boolean },
): Promise<void> => {
  const run = async (own: Context, change = (sql: string) => sql): Promise<void> => {
    for (const sql of migration.statements(tables))
      await provider.executeSql(own, { sql: change(sql), params: [], alone: own === undefined });
  };
  // A migration that changes a table needs an exclusive lock, and all other statements queue behind that request. So it waits
  // briefly and tries again later.
  const limitWaiting = (): Promise<unknown> =>
    provider.executeSql(ctx, { sql: `SET LOCAL lock_timeout = '${lockTimeoutMs}ms'`, params: [] });
  if (!inTransaction) {
    await assertSecondConnection(provider);
    // The transaction that holds the lock stays open, and another connection does the work. The setting keeps the server from
    // ending the idle transaction. `SET` needs no snapshot and so releases the last one: `CREATE INDEX CONCURRENTLY` waits
    // until there are no older snapshots.
    await provider.executeSql(ctx, {
      sql: "SET LOCAL idle_in_transaction_session_timeout = 0",
      params: [],
    });
    // Without `provideContext`: `postgres` with `fetch_types: false` never returns from opening a connection for that.
    await run(undefined);
  } else {
    await limitWaiting();
    await run(ctx, (sql) => sql.replace(" INDEX CONCURRENTLY ", " INDEX "));
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
 * Brings the schema up to date. Of several processes at once, one does the work and the others wait until none is left. An
 * interrupted migration is repeated by the next call.
 *
 * The others wait outside a transaction. A transaction that waits for the lock would keep a snapshot, and `CREATE INDEX
 * CONCURRENTLY` waits for snapshots: a deadlock that PostgreSQL does not detect.
 */
export const migrate = async (
  provider: AnyProvider,
  tables: Tables,
  migrations: readonly Migration[],
): Promise<void> => {
  const tryToApply = async (migration: Migration): Promise<boolean> => {
    const inTransaction =
      migration.outsideTransaction !== true || (await blocksNoStatement(provider, tables));
    return provider.runInTransaction(async (ctx) => {
      // `IF NOT EXISTS` and `IF EXISTS` raise notices, which some clients print to the console.
      await provider.executeSql(ctx, { sql: "SET LOCAL client_min_messages = warning", params: [] });
      if (!(await tryToLock(provider, tables, ctx))) return false;
      await prepareSchema(provider, tables, ctx);
      const applied = await readApplied(provider, tables, ctx);
      if (unapplied([migration], applied).length > 0)
        await applyMigration(provider, tables, migration, { ctx, inTransaction });
      return true;
    });
  };
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
