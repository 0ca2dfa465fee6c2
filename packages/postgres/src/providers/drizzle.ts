import { InvalidOptionError } from "leasehold/adapter";
import {
  type CallbackArgument,
  type PgStateProvider,
  readKnownOptions,
  type SqlRow,
} from "../database/provider.ts";
import { ignorePoolErrors, type PgPoolEvents } from "./pg-pool.ts";

/** What is used of a PostgreSQL database of Drizzle, whichever driver it has. */
export interface DrizzleLike {
  transaction(...args: never[]): unknown;
  execute(...args: never[]): unknown;
}

/** What `transaction` of a Drizzle database passes to its callback. */
export type DrizzleTransactionOf<TDb extends DrizzleLike> = CallbackArgument<TDb["transaction"]>;

/** The context of a transaction: `db` is Drizzle's own. */
export interface DrizzleContext<TTransaction> {
  readonly tx: TTransaction;
}

/** Options of the provider for Drizzle. */
export interface DrizzleProviderOptions<TDb extends DrizzleLike> {
  /** Yours, made by `drizzle(…)`. */
  readonly db: TDb;
  /** As for `createPgPoolStateProvider`. Default: true. */
  readonly prepareStatements?: boolean | undefined;
}

/** Below the query builder: `execute` cannot take a text with parameters. */
interface Session {
  readonly client?: { getTransactionStatus?(): string | null };
  prepareQuery(
    query: { readonly sql: string; readonly params: unknown[] },
    fields: undefined,
    name: string | undefined,
    inArrayMode: boolean,
  ): { execute(): Promise<unknown> };
}

interface Transaction {
  readonly _: { readonly session: Session };
  transaction<T>(callback: (tx: Transaction) => Promise<T>): Promise<T>;
  rollback?: unknown;
  setTransaction?: unknown;
}

/** The message of Drizzle's own error has every parameter in it, including the inputs of jobs. */
const withoutParameters = (error: unknown): unknown => {
  if (!(error instanceof Error) || !("params" in error) || !("query" in error)) return error;
  return error.cause ?? error;
};

const isPool = (client: unknown): client is PgPoolEvents => {
  const { on, listenerCount, totalCount } = (client ?? {}) as Record<string, unknown>;
  return typeof on === "function" && typeof listenerCount === "function" && typeof totalCount === "number";
};

/** A provider over Drizzle. Its context is `{ tx }`, with what `db.transaction` passes to its callback. */
export const createDrizzleStateProvider = <TDb extends DrizzleLike>(
  options: DrizzleProviderOptions<TDb>,
): PgStateProvider<DrizzleContext<DrizzleTransactionOf<TDb>>, DrizzleContext<TDb>> => {
  const { db, prepareStatements = true } = readKnownOptions(options, "createDrizzleStateProvider", {
    db: true,
    prepareStatements: true,
  });
  type Context = DrizzleContext<DrizzleTransactionOf<TDb>>;
  if (typeof db?.transaction !== "function" || typeof db.execute !== "function") {
    throw new InvalidOptionError("db", "must be what drizzle() returns", typeof db);
  }
  const root = db as unknown as Transaction;
  const { $client } = db as { $client?: unknown };
  if (isPool($client)) ignorePoolErrors($client);
  const ended = new WeakSet<object>();

  const run = <T>(opener: Transaction, callback: (ctx: Context) => Promise<T>): Promise<T> =>
    opener.transaction(async (tx) => {
      try {
        return await callback({ tx: tx as DrizzleTransactionOf<TDb> });
      } finally {
        ended.add(tx);
      }
    });

  return {
    contextKeys: ["tx"],
    provideContext: (callback) => callback({ tx: db }),
    // With some drivers Drizzle sets the level with an extra statement. The adapter does that only where it is needed.
    runInTransaction: (callback) => run(root, callback),
    // Drivers that track failed statements have to set savepoints on their own.
    runInSavepoint: (callback, parent) => run(parent.tx as Transaction, callback),
    isInTransaction: async (ctx) => {
      try {
        const { tx } = ctx as DrizzleContext<Transaction>;
        const isTransaction = typeof tx.rollback === "function" && typeof tx.setTransaction === "function";
        if (!isTransaction || ended.has(tx)) return false;
        // Drizzle does not mark the end of transactions that the user began. A client of `pg` reports it, from 8.17 on.
        return tx._.session.client?.getTransactionStatus?.() !== "I";
      } catch {
        return false;
      }
    },
    executeSql: async (ctx, { sql, params, name }) => {
      const { session } = ((ctx?.tx ?? root) as Transaction)._;
      const statementName = prepareStatements ? name : undefined;
      try {
        const query = session.prepareQuery({ sql, params: [...params] }, undefined, statementName, false);
        const result = (await query.execute()) as SqlRow[] | { readonly rows: SqlRow[] };
        return "rows" in result ? result.rows : [...result];
      } catch (error) {
        throw withoutParameters(error);
      }
    },
  };
};
