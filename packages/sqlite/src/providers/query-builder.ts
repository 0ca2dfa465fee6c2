import { InvalidOptionError, type OptionNames, requireOptions } from "leasehold/adapter";
import type { HandleProviderOptions, SqliteStateProvider } from "../database/provider.ts";
import { type BetterSqlite3Database, createBetterSqlite3StateProvider } from "./drivers.ts";

export interface QueryBuilderProviderOptions<TDb, TDatabase> extends Omit<
  HandleProviderOptions<TDatabase, never>,
  "context"
> {
  /** The query builder over `database`, for use in Leasehold's transactions only. */
  readonly db: TDb;
}

export interface QueryBuilderContext<TDb> {
  readonly db: TDb;
}

const knownOptions: OptionNames<keyof QueryBuilderProviderOptions<unknown, unknown>> = {
  db: true,
  database: true,
  reader: true,
  file: true,
  settings: true,
};

/** A provider whose context is a query builder over the handle that writes. */
export const createQueryBuilderProvider = <TDb, TDatabase extends BetterSqlite3Database>(
  passed: QueryBuilderProviderOptions<TDb, TDatabase>,
  functionName: string,
  isQueryBuilder: (db: Record<string, unknown>) => boolean,
  expected: string,
): SqliteStateProvider<QueryBuilderContext<TDb>> => {
  const { db, ...options } = requireOptions(passed, functionName, knownOptions) as typeof passed;
  if (typeof db !== "object" || db === null || !isQueryBuilder(db as Record<string, unknown>)) {
    throw new InvalidOptionError("db", `must be ${expected}`, typeof db);
  }
  const { database, reader } = options as Partial<typeof options>;
  for (const [option, handle] of [["database", database] as const, ["reader", reader] as const]) {
    if (option === "reader" && handle === undefined) continue;
    if (typeof handle?.prepare !== "function" || typeof handle.exec !== "function") {
      throw new InvalidOptionError(option, "must be a database of better-sqlite3 or libsql", typeof handle);
    }
  }
  return createBetterSqlite3StateProvider<TDatabase, QueryBuilderContext<TDb>>({
    ...options,
    context: { db },
  });
};
