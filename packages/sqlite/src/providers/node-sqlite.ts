import { createConnection, type SqliteConnection } from "../connection/connection.ts";
import { createHandleProvider, type HandleProviderOptions, type SqliteStateProvider } from "../provider.ts";

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

// The types of `node:sqlite` allow only values that SQLite can store; those of the other drivers allow anything.
type AnyArguments = (...values: unknown[]) => unknown;

export const connectNodeSqlite = (database: NodeSqliteDatabase): SqliteConnection =>
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
