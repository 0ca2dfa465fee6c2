import type { SqliteStateProvider } from "../database/provider.ts";
import type { BetterSqlite3Database } from "./drivers.ts";
import {
  createQueryBuilderProvider,
  type QueryBuilderContext,
  type QueryBuilderProviderOptions,
} from "./query-builder.ts";

/** The part of a Drizzle database for SQLite that is used here. It is not imported, so code without Drizzle compiles. */
export interface DrizzleLike {
  select(...args: never[]): unknown;
  transaction(...args: never[]): unknown;
}

/** The context of a transaction: `db` is Drizzle's own. */
export type DrizzleContext<TDb extends DrizzleLike> = QueryBuilderContext<TDb>;

/** Options of `createDrizzleStateProvider`. */
export type DrizzleStateProviderOptions<
  TDb extends DrizzleLike,
  TDatabase extends BetterSqlite3Database,
> = QueryBuilderProviderOptions<TDb, TDatabase>;

/**
 * A provider over Drizzle, with a database of `better-sqlite3` or of `libsql`. Its context is `{ db }`: Leasehold has
 * opened the transaction, so use `db` as it is, without `db.transaction()`.
 */
export const createDrizzleStateProvider = <TDb extends DrizzleLike, TDatabase extends BetterSqlite3Database>(
  options: DrizzleStateProviderOptions<TDb, TDatabase>,
): SqliteStateProvider<DrizzleContext<TDb>> =>
  createQueryBuilderProvider(
    options,
    "createDrizzleStateProvider",
    ({ select, transaction }) => typeof select === "function" && typeof transaction === "function",
    "what drizzle() returns",
  );

/** What `drizzle` of `drizzle-orm/sqlite-proxy` takes. */
export type DrizzleProxy = (
  sql: string,
  // oxlint-disable-next-line typescript/no-explicit-any -- as Drizzle has it
  params: any[],
  method: "run" | "all" | "values" | "get",
  // oxlint-disable-next-line typescript/no-explicit-any -- as Drizzle has it
) => Promise<{ rows: any[] }>;

/**
 * Drizzle has no driver for `libsql`: use `drizzle(createDrizzleProxy(database))` with the `drizzle` of
 * `drizzle-orm/sqlite-proxy`. It has one for better-sqlite3: use `drizzle(database)` there.
 */
export const createDrizzleProxy =
  (database: BetterSqlite3Database): DrizzleProxy =>
  async (sql, params, method) => {
    const statement = database.prepare(sql);
    if (method === "run") {
      statement.run(params);
      return { rows: [] };
    }
    statement.raw(true);
    return { rows: method === "get" ? (statement.get(params) as unknown[]) : statement.all(params) };
  };
