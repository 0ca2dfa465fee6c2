import { InvalidOptionError } from "leasehold/adapter";
import {
  type CallbackArgument,
  type PgStateProvider,
  readKnownOptions,
  type SqlRow,
} from "../database/provider.ts";

/** What is used of a `Knex` with the client `pg`. */
export interface KnexLike {
  transaction(...args: never[]): unknown;
  readonly client: unknown;
}

/** What `transaction` of a `Knex` passes to its callback: `Knex.Transaction`. */
export type KnexTransactionOf<TKnex extends KnexLike> = CallbackArgument<TKnex["transaction"]>;

/** The context of a transaction: Knex's own. */
export interface KnexContext<TTransaction> {
  readonly trx: TTransaction;
}

/** Options of `createKnexStateProvider`. */
export interface KnexProviderOptions<TKnex extends KnexLike> {
  /** Yours: the provider never destroys it. */
  readonly knex: TKnex;
  /** As for `createPgPoolStateProvider`. Default: true. */
  readonly prepareStatements?: boolean | undefined;
}

interface Query {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly name?: string;
}

interface Connection {
  query(query: Query): Promise<{ readonly rows: SqlRow[] }>;
}

/** The source of connections of a Knex or a transaction. Knex does not type it. */
interface KnexClient {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
}

interface Transaction {
  readonly isTransaction?: boolean;
  isCompleted(): boolean;
}

/** A provider over Knex. Its context is `{ trx }`, with a `Knex.Transaction`. */
export const createKnexStateProvider = <TKnex extends KnexLike>(
  options: KnexProviderOptions<TKnex>,
): PgStateProvider<KnexContext<KnexTransactionOf<TKnex>>, KnexContext<TKnex>> => {
  const { knex, prepareStatements = true } = readKnownOptions(options, "createKnexStateProvider", {
    knex: true,
    prepareStatements: true,
  });
  type TTrx = KnexTransactionOf<TKnex>;
  if (typeof (knex as Partial<KnexLike> | undefined)?.transaction !== "function") {
    throw new InvalidOptionError("knex", "must be what knex() returns", typeof knex);
  }
  const transaction = knex.transaction.bind(knex) as unknown as <T>(
    callback: (trx: TTrx) => Promise<T>,
    config: { readonly isolationLevel: string; readonly doNotRejectOnRollback: boolean },
  ) => Promise<T>;

  return {
    contextKeys: ["trx"],
    provideContext: (callback) => callback({ trx: knex }),
    // Otherwise a callback that throws `undefined` would seem to succeed.
    runInTransaction: (callback, { isolationLevel = "read committed" } = {}) =>
      transaction((trx) => callback({ trx }), { isolationLevel, doNotRejectOnRollback: false }),
    setsIsolationLevel: true,
    isInTransaction: async (ctx) => {
      try {
        const { trx } = ctx as KnexContext<Transaction>;
        return trx.isTransaction === true && !trx.isCompleted();
      } catch {
        return false;
      }
    },
    executeSql: async (ctx, { sql, params, name }) => {
      // `raw` has its own numbering of parameters, so the statement goes directly to the connection of `pg`.
      const client = ((ctx?.trx ?? knex) as KnexLike).client as KnexClient;
      const connection = await client.acquireConnection();
      try {
        const isNamed = prepareStatements && name !== undefined;
        const { rows } = await connection.query({ text: sql, values: [...params], ...(isNamed && { name }) });
        return rows;
      } finally {
        await client.releaseConnection(connection);
      }
    },
  };
};
