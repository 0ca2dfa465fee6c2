import { createConnection, type SqliteConnection } from "../connection/connection.ts";
import { createHandleProvider, type HandleProviderOptions, type SqliteStateProvider } from "../provider.ts";

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

export const connectBetterSqlite3 = (database: BetterSqlite3Database): SqliteConnection =>
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
