import { CompiledQuery } from "kysely";
import { InvalidOptionError } from "leasehold/adapter";
import {
  type CallbackArgument,
  type PgStateProvider,
  readKnownOptions,
  type SqlRow,
} from "../database/provider.ts";

// The types are declared here and not imported, so that users without Kysely can compile.

/** What is used of a `Kysely` with its `PostgresDialect`. */
export interface KyselyLike {
  readonly isTransaction: boolean;
  transaction(): { execute(...args: never[]): unknown };
  connection(): { execute(...args: never[]): unknown };
  withoutPlugins(): unknown;
}

/** The transactions of a `Kysely<Database>`: `Transaction<Database>`. */
export type KyselyTransactionOf<TDb extends KyselyLike> = CallbackArgument<
  ReturnType<TDb["transaction"]>["execute"]
>;

/** The context of a transaction: `db` is Kysely's own. */
export interface KyselyContext<TTransaction> {
  readonly trx: TTransaction;
}

/** Options of the provider for Kysely. */
export interface KyselyProviderOptions<TDb extends KyselyLike> {
  /** Yours: the provider never destroys it. */
  readonly db: TDb;
}

interface Executor {
  executeQuery(query: CompiledQuery): Promise<{ readonly rows: readonly unknown[] }>;
  getExecutor(): { provideConnection<T>(use: () => Promise<T>): Promise<T> };
  withoutPlugins(): Executor;
}

interface Builder<TTrx> {
  setIsolationLevel(level: string): Builder<TTrx>;
  execute<T>(callback: (trx: TTrx) => Promise<T>): Promise<T>;
}

/** A provider over Kysely. Its context is `{ trx }`, with a `Transaction`, in which all of Kysely can be used. */
export const createKyselyStateProvider = <TDb extends KyselyLike>(
  options: KyselyProviderOptions<TDb>,
): PgStateProvider<KyselyContext<KyselyTransactionOf<TDb>>, KyselyContext<TDb>> => {
  const { db } = readKnownOptions(options, "createKyselyStateProvider", {
    db: true,
  });
  type TTrx = KyselyTransactionOf<TDb>;
  if (typeof db?.transaction !== "function" || typeof db.connection !== "function") {
    throw new InvalidOptionError("db", "must be a Kysely", typeof db);
  }
  // Plugins of the user could rename the columns of results.
  const plain = db.withoutPlugins() as Executor;

  return {
    contextKeys: ["trx"],
    provideContext: <T>(callback: (ctx: KyselyContext<TDb>) => Promise<T>) =>
      (db.connection() as unknown as Builder<TDb>).execute((trx) => callback({ trx })),
    runInTransaction: (callback, { isolationLevel = "read committed" } = {}) =>
      (db.transaction() as unknown as Builder<TTrx>)
        .setIsolationLevel(isolationLevel)
        .execute((trx) => callback({ trx })),
    setsIsolationLevel: true,
    isInTransaction: async (ctx) => {
      try {
        const { trx } = ctx as KyselyContext<KyselyLike & Executor>;
        if (!trx.isTransaction) return false;
        // Sends nothing: Kysely refuses to use a transaction that has ended.
        return await trx.getExecutor().provideConnection(async () => true);
      } catch {
        return false;
      }
    },
    executeSql: async (ctx, { sql, params }) => {
      const executor = ctx === undefined ? plain : (ctx.trx as unknown as Executor).withoutPlugins();
      const { rows } = await executor.executeQuery(CompiledQuery.raw(sql, [...params]));
      return rows as SqlRow[];
    },
  };
};
