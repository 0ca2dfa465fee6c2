import type { SqliteStateProvider } from "../database/provider.ts";
import type { BetterSqlite3Database } from "./drivers.ts";
import {
  createQueryBuilderProvider,
  type QueryBuilderContext,
  type QueryBuilderProviderOptions,
} from "./query-builder.ts";

/** The part of `Kysely` that is used here. It is not imported, so code without Kysely compiles. */
export interface KyselyLike {
  selectFrom(...args: never[]): unknown;
  transaction(): unknown;
}

/** The context of a transaction: `db` is Kysely's own. */
export type KyselyContext<TDb extends KyselyLike> = QueryBuilderContext<TDb>;

/** Options of `createKyselyStateProvider`. */
export type KyselyStateProviderOptions<
  TDb extends KyselyLike,
  TDatabase extends BetterSqlite3Database,
> = QueryBuilderProviderOptions<TDb, TDatabase>;

/**
 * A provider over Kysely and its `SqliteDialect`, with a database of `better-sqlite3` or of `libsql`. Its context is
 * `{ db }`: Leasehold has opened the transaction, so use `db` as it is, without `db.transaction()`.
 */
export const createKyselyStateProvider = <TDb extends KyselyLike, TDatabase extends BetterSqlite3Database>(
  options: KyselyStateProviderOptions<TDb, TDatabase>,
): SqliteStateProvider<KyselyContext<TDb>> =>
  createQueryBuilderProvider(
    options,
    "createKyselyStateProvider",
    ({ selectFrom, transaction }) => typeof selectFrom === "function" && typeof transaction === "function",
    "a Kysely",
  );
