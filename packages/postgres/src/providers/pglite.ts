import { InvalidOptionError } from "leasehold/adapter";
import {
  type CallbackArgument,
  type PgStateProvider,
  readKnownOptions,
  type SqlRow,
} from "../database/provider.ts";

/** What is used of a `PGlite`. */
export interface PGliteLike {
  query(query: string, params?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  transaction(...args: never[]): unknown;
}

/** What `transaction` of a `PGlite` passes to its callback. */
export type PGliteTransactionOf<TDb extends PGliteLike> = CallbackArgument<TDb["transaction"]>;

/** The context of a transaction: `client` is the transaction of PGlite. */
export interface PGliteContext<TTransaction> {
  readonly tx: TTransaction;
}

/** Options of `createPGliteStateProvider`. */
export interface PGliteProviderOptions<TDb extends PGliteLike> {
  /** Yours: the provider never closes it. */
  readonly db: TDb;
}

/**
 * A provider over PGlite, PostgreSQL inside your process. Its context is `{ tx }`. There is one connection: while a
 * transaction is open, everything else waits for its end.
 */
export const createPGliteStateProvider = <TDb extends PGliteLike>(
  options: PGliteProviderOptions<TDb>,
): PgStateProvider<PGliteContext<PGliteTransactionOf<TDb>>, PGliteContext<TDb>> => {
  const { db } = readKnownOptions(options, "createPGliteStateProvider", {
    db: true,
  });
  if (typeof db?.transaction !== "function" || typeof db.query !== "function") {
    throw new InvalidOptionError("db", "must be a PGlite", typeof db);
  }
  const transaction = db.transaction.bind(db) as unknown as <T>(
    callback: (tx: PGliteTransactionOf<TDb>) => Promise<T>,
  ) => Promise<T>;

  return {
    contextKeys: ["tx"],
    provideContext: (callback) => callback({ tx: db }),
    runInTransaction: (callback) => transaction((tx) => callback({ tx })),
    hasSingleConnection: true,
    isInTransaction: async (ctx) => {
      try {
        const { tx } = ctx as PGliteContext<{ closed: boolean }>;
        // A database has `closed` as well, but only a transaction has `rollback`.
        return "rollback" in tx && "closed" in tx && !tx.closed;
      } catch {
        return false;
      }
    },
    executeSql: async (ctx, { sql, params }) => {
      const { rows } = await ((ctx?.tx ?? db) as PGliteLike).query(sql, [...params]);
      return rows as SqlRow[];
    },
  };
};
