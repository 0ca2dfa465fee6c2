import { createConnection, type SqliteConnection } from "../database/connection.ts";
import { DriverUnavailableError } from "../database/errors.ts";
import {
  createHandleProvider,
  type HandleProviderOptions,
  type SqliteStateProvider,
} from "../database/provider.ts";

/** The part of a prepared statement of `better-sqlite3` or `libsql` that is used here. */
export interface BetterSqlite3Statement {
  run(...values: unknown[]): { readonly changes: number };
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
  raw(toggle?: boolean): unknown;
}

/** The part of a database of `better-sqlite3` or `libsql` that is used here. Both have the same shape. */
export interface BetterSqlite3Database {
  prepare(sql: string): BetterSqlite3Statement;
  exec(sql: string): unknown;
  close(): unknown;
}

const connectBetterSqlite3 = (database: BetterSqlite3Database): SqliteConnection =>
  createConnection({
    prepare: (sql, returnsRows) => {
      const statement = database.prepare(sql);
      if (returnsRows) statement.raw(true);
      return {
        run: (values) => statement.run(values).changes,
        query: (values) => statement.all(values) as unknown[][],
        first: (values) => statement.get(values) as unknown[] | undefined,
      };
    },
    exec: (sql) => void database.exec(sql),
    close: () => void database.close(),
  });

/** For handles of `better-sqlite3` and of `libsql`. They stay open when the adapter is closed: they are yours. */
export const createBetterSqlite3StateProvider = <
  TDatabase extends BetterSqlite3Database,
  TContext extends object = { readonly client: TDatabase },
>(
  options: HandleProviderOptions<TDatabase, TContext>,
): SqliteStateProvider<TContext> =>
  createHandleProvider(options, "createBetterSqlite3StateProvider", connectBetterSqlite3);

/** The part of a prepared statement of `node:sqlite` that is used here. */
export interface NodeSqliteStatement {
  run(...values: never[]): { readonly changes: number | bigint };
  get(...values: never[]): unknown;
  all(...values: never[]): unknown[];
}

/** The part of `DatabaseSync` of `node:sqlite` that is used here. */
export interface NodeSqliteDatabase {
  prepare(sql: string): NodeSqliteStatement;
  exec(sql: string): void;
  close(): void;
}

// The types of `node:sqlite` allow only values that SQLite can store; the types of the other drivers allow any.
type AnyArguments = (...values: unknown[]) => unknown;

const connectNodeSqlite = (database: NodeSqliteDatabase): SqliteConnection =>
  createConnection({
    prepare: (sql) => {
      const statement = database.prepare(sql);
      const run = statement.run.bind(statement) as AnyArguments;
      const get = statement.get.bind(statement) as AnyArguments;
      const all = statement.all.bind(statement) as AnyArguments;
      return {
        run: (values) => Number((run(...values) as { changes: number | bigint }).changes),
        query: (values) => (all(...values) as object[]).map((row) => Object.values(row)),
        first: (values) => {
          const row = get(...values) as object | undefined;
          return row === undefined ? undefined : Object.values(row);
        },
      };
    },
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
  });

/** For handles of `node:sqlite`, from Node 22.5 on. They stay open when the adapter is closed: they are yours. */
export const createNodeSqliteStateProvider = <
  TDatabase extends NodeSqliteDatabase,
  TContext extends object = { readonly client: TDatabase },
>(
  options: HandleProviderOptions<TDatabase, TContext>,
): SqliteStateProvider<TContext> =>
  createHandleProvider(options, "createNodeSqliteStateProvider", connectNodeSqlite);

/** What the handle of every driver can do. For anything else, use the driver's own type. */
export interface SqliteClient {
  prepare(sql: string): {
    run(...values: unknown[]): unknown;
    get(...values: unknown[]): unknown;
    all(...values: unknown[]): unknown[];
  };
  exec(sql: string): unknown;
}

export const sqliteDrivers = ["libsql", "node:sqlite", "better-sqlite3"] as const;

/** The name of a driver. */
export type SqliteDriver = (typeof sqliteDrivers)[number];

/** Node's own driver where there is one: in Node 20, and in Node 22 before 22.13, there is none. */
export const defaultDriver = (): SqliteDriver =>
  process.getBuiltinModule("node:sqlite") === undefined ? "libsql" : "node:sqlite";

/** An open database, for the user and for the adapter. */
export interface DriverHandle {
  readonly client: SqliteClient;
  readonly connection: SqliteConnection;
}

export type OpenDatabase = (file: string) => DriverHandle;

const unavailable =
  (driver: SqliteDriver) =>
  (cause: unknown): never => {
    throw new DriverUnavailableError(driver, { cause });
  };

// A driver is loaded only when it is used, so the others need not be installed. Because of the `catch` directly after each
// `import()`, a bundler accepts that the package is missing: it warns and leaves the import as it is. Turbopack needs the comment.
const drivers: Readonly<Record<SqliteDriver, () => Promise<OpenDatabase>>> = {
  libsql: async () => {
    const { default: Database } = await import(/* turbopackOptional: true */ "libsql").catch(
      unavailable("libsql"),
    );
    return (file) => {
      const database = new Database(file) as BetterSqlite3Database;
      return { client: database, connection: connectBetterSqlite3(database) };
    };
  },
  "better-sqlite3": async () => {
    const { default: Database } = await import(/* turbopackOptional: true */ "better-sqlite3").catch(
      unavailable("better-sqlite3"),
    );
    return (file) => {
      const database: BetterSqlite3Database = new Database(file);
      return { client: database, connection: connectBetterSqlite3(database) };
    };
  },
  "node:sqlite": async () => {
    // The types of the oldest supported Node do not have it.
    const name = "node:sqlite";
    const { DatabaseSync } = (await import(name).catch(unavailable(name))) as {
      DatabaseSync: new (file: string) => NodeSqliteDatabase;
    };
    return (file) => {
      const database = new DatabaseSync(file);
      return { client: database, connection: connectNodeSqlite(database) };
    };
  },
};

export const loadDriver = (driver: SqliteDriver): Promise<OpenDatabase> => drivers[driver]();
