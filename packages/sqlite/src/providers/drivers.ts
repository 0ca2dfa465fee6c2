import type { SqliteConnection } from "../connection/connection.ts";
import { type BetterSqlite3Database, connectBetterSqlite3 } from "./better-sqlite3.ts";
import { DriverUnavailableError } from "../sqlite-error.ts";
import { connectNodeSqlite, type NodeSqliteDatabase } from "./node-sqlite.ts";

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

export type SqliteDriver = (typeof sqliteDrivers)[number];

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

// A driver is loaded only when it is used, so the others need not be installed. The `catch` directly after each `import()`
// tells a bundler that the package may be missing: it warns and leaves the import as it is.
const drivers: Readonly<Record<SqliteDriver, () => Promise<OpenDatabase>>> = {
  libsql: async () => {
    const { default: Database } = await import("libsql").catch(unavailable("libsql"));
    return (file) => {
      const database = new Database(file) as BetterSqlite3Database;
      return { client: database, connection: connectBetterSqlite3(database) };
    };
  },
  "better-sqlite3": async () => {
    const { default: Database } = await import("better-sqlite3").catch(unavailable("better-sqlite3"));
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
