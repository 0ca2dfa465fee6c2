import { InvalidOptionError } from "leasehold/adapter";
import type { PgStateProvider, SqlRow, SqlStatement } from "../provider.ts";

/** What is used of a transaction of `postgres`. */
export interface PostgresJsTransactionLike {
  unsafe(
    query: string,
    parameters?: never[],
    options?: { readonly prepare?: boolean },
  ): PromiseLike<Iterable<unknown>>;
  savepoint(...args: never[]): unknown;
}

/** What is used of the function that `postgres()` returns. */
export interface PostgresJsLike<TTransaction extends PostgresJsTransactionLike> {
  unsafe: PostgresJsTransactionLike["unsafe"];
  begin<T>(callback: (sql: TTransaction) => T | Promise<T>): Promise<unknown>;
  reserve(): Promise<{ unsafe: PostgresJsTransactionLike["unsafe"]; release(): void }>;
}

export interface PostgresJsTransactionContext<TTransaction> {
  readonly sql: TTransaction;
}

/** A connection outside any transaction. */
export interface PostgresJsContext {
  readonly sql: { unsafe: PostgresJsTransactionLike["unsafe"] };
}

export interface PostgresJsProviderOptions<TTransaction extends PostgresJsTransactionLike> {
  /** Yours: the provider never ends it. */
  readonly sql: PostgresJsLike<TTransaction>;
  /** Keeps the statements of the hot path prepared on each connection. Default: true. */
  readonly prepareStatements?: boolean | undefined;
}

/** A provider over `postgres` (postgres.js). Its context is `{ sql }`, with the `sql` of a `begin` callback. */
export const createPostgresJsProvider = <TTransaction extends PostgresJsTransactionLike>({
  sql,
  prepareStatements = true,
}: PostgresJsProviderOptions<TTransaction>): PgStateProvider<
  PostgresJsTransactionContext<TTransaction>,
  PostgresJsContext
> => {
  const given: unknown = sql;
  if (typeof given !== "function" || !("begin" in given)) {
    throw new InvalidOptionError("sql", "must be what postgres() returns", typeof given);
  }
  const ended = new WeakSet<object>();

  const execute = async (
    on: { unsafe: PostgresJsTransactionLike["unsafe"] },
    { sql: text, params, name }: SqlStatement,
  ): Promise<readonly SqlRow[]> => {
    const prepare = prepareStatements && name !== undefined;
    return [...(await on.unsafe(text, [...params] as never[], { prepare }))] as SqlRow[];
  };

  const run = async <T>(
    callback: (ctx: PostgresJsTransactionContext<TTransaction>) => Promise<T>,
    transaction: TTransaction,
  ): Promise<{ readonly value: T }> => {
    try {
      // Wrapped, because the library awaits whatever a callback returns, arrays of queries included.
      return { value: await callback({ sql: transaction }) };
    } finally {
      ended.add(transaction);
    }
  };

  return {
    provideContext: async (callback) => {
      const reserved = await sql.reserve();
      try {
        return await callback({ sql: reserved });
      } finally {
        reserved.release();
      }
    },
    runInTransaction: async <T>(
      callback: (ctx: PostgresJsTransactionContext<TTransaction>) => Promise<T>,
    ) => {
      const result = await sql.begin((transaction) => run(callback, transaction));
      return (result as { value: T }).value;
    },
    // A query that fails spoils the transaction in the eyes of this library, unless the savepoint is its own.
    runInSavepoint: async <T>(
      callback: (ctx: PostgresJsTransactionContext<TTransaction>) => Promise<T>,
      parent: PostgresJsTransactionContext<TTransaction>,
    ) => {
      const set = parent.sql.savepoint as (callback: (transaction: TTransaction) => unknown) => unknown;
      const result = await set((transaction) => run(callback, transaction));
      return (result as { value: T }).value;
    },
    isInTransaction: async (ctx) => {
      try {
        const transaction = (ctx as { sql?: unknown } | null | undefined)?.sql;
        if (typeof transaction !== "function") return false;
        // The `sql` of a `begin` or `savepoint` callback has `savepoint`; the one outside has not.
        return "savepoint" in transaction && !ended.has(transaction);
      } catch {
        return false;
      }
    },
    executeSql: (ctx, statement) => execute(ctx?.sql ?? sql, statement),
  };
};
