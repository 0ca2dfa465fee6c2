import {
  InvalidOptionError,
  JobAttemptEndedError,
  StoreCallTimeoutError,
  type TransactionOptions,
} from "leasehold/adapter";
import { isFromReadOnlyServer, TransactionRolledBackError } from "../database/errors.ts";
import { type PgStateProvider, readKnownOptions, type SqlStatement } from "../database/provider.ts";
import { canSendTogether, type Companions, type PgResult, sendTogether } from "./pg-together.ts";

/** What is used of the events of a `Pool` of `pg`. */
export interface PgPoolEvents {
  on(event: "error", listener: (error: Error) => void): unknown;
  on(
    event: "connect",
    listener: (client: { on(event: "error", listener: () => void): unknown }) => void,
  ): unknown;
}

const ignore = (): void => {};

const done = new WeakSet<PgPoolEvents>();

/**
 * Keeps a `Pool` of `pg` from ending the process when a server goes down. In Node, an `error` event without a listener does
 * that, and a pool listens to its clients only while they are idle. Ignoring the event loses no error: the running query is
 * rejected as well, and the pool replaces the client.
 *
 * `createPgPoolStateProvider` and the provider for Drizzle call it. Call it for a pool that you use with Kysely.
 */
export const ignorePoolErrors = (pool: PgPoolEvents): void => {
  if (done.has(pool)) return;
  done.add(pool);
  pool.on("error", ignore);
  pool.on("connect", (client) => client.on("error", ignore));
};

/** What is used of a client of `pg`. */
export interface PgClientLike {
  query(config: {
    readonly text: string;
    readonly values: unknown[];
    readonly name?: string;
  }): Promise<{ readonly rows: Record<string, unknown>[]; readonly command?: string }>;
  /** From version 8.17 on. */
  getTransactionStatus?(): string | null;
}

export interface PgPoolClientLike extends PgClientLike {
  release(error?: Error | boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
}

/** What is used of a `Pool` of `pg`. */
export interface PgPoolLike extends PgPoolEvents {
  connect(): Promise<PgPoolClientLike>;
  query: PgClientLike["query"];
}

/** The context of a transaction: `client` is the client of `pg` that runs it. */
export interface PgContext<TClient> {
  readonly client: TClient;
}

/** The clients of a pool: with `pg` its `PoolClient`. The second signature is for the callbacks that `connect` also takes. */
export type PgClientOf<TPool> = TPool extends {
  connect: { (): Promise<infer TClient extends PgPoolClientLike>; (...args: never[]): unknown };
}
  ? TClient
  : PgPoolClientLike;

/** Options of `createPgPoolStateProvider`. */
export interface PgPoolProviderOptions<TPool extends PgPoolLike> {
  /** Yours: the provider borrows its clients and never ends it. */
  readonly pool: TPool;
  /**
   * Keeps the statements of the hot path prepared on each connection. Turn it off behind a pooler in transaction mode
   * that does not track prepared statements. Default: true.
   */
  readonly prepareStatements?: boolean | undefined;
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

const rowsOf = <TRow>({ rows }: { readonly rows: TRow[] }): TRow[] => rows;

/** The answer of PostgreSQL to a commit is ROLLBACK if a statement failed and the callback ignored the error. */
const checkCommitted = ({ command }: { readonly command?: string }): void => {
  if (command === "ROLLBACK") throw new TransactionRolledBackError();
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** A provider over a `Pool` of `pg`. Its context is `{ client }`, with a client in an open transaction. */
export const createPgPoolStateProvider = <TPool extends PgPoolLike>(
  options: PgPoolProviderOptions<TPool>,
): PgStateProvider<PgContext<PgClientOf<TPool>>, PgContext<PgClientOf<TPool>>> => {
  const { pool, prepareStatements = true } = readKnownOptions(options, "createPgPoolStateProvider", {
    pool: true,
    prepareStatements: true,
  });
  type TClient = PgClientOf<TPool>;
  if (!isObject(pool) || typeof pool.connect !== "function" || typeof pool.query !== "function") {
    throw new InvalidOptionError("pool", "must be a Pool of pg", typeof pool);
  }
  // Also before `connect` resolves: one packet of the server may both confirm and end the connection.
  ignorePoolErrors(pool);

  // The parameters are not copied: `pg` only reads them.
  const toQuery = ({ sql, params, name }: SqlStatement): Parameters<PgClientLike["query"]>[0] =>
    prepareStatements && name !== undefined
      ? { text: sql, values: params as unknown[], name }
      : { text: sql, values: params as unknown[] };

  // For versions of `pg` without `getTransactionStatus`.
  const inTransaction = new WeakSet<object>();
  /** The `BEGIN` of transactions whose first statement has not been sent. */
  const unbegun = new WeakMap<object, string>();
  const committed = new WeakSet<object>();
  /** Clients that may be wrong about which statements are prepared. */
  const doubtful = new WeakSet<object>();

  const query = (client: TClient, text: string) => client.query({ text, values: [] });

  const together = (client: TClient, statement: SqlStatement, companions: Companions): Promise<PgResult[]> =>
    sendTogether(client, toQuery(statement), companions, () => doubtful.add(client));

  /** The pool does not listen to a borrowed client: without a listener, the loss of its server would end the process. */
  const borrow = async (): Promise<TClient> => {
    const client = (await pool.connect()) as TClient;
    client.on("error", ignore);
    return client;
  };
  const release = (client: TClient, broken?: Error): void => {
    client.off("error", ignore);
    // A client that cannot roll back is not returned to the pool.
    client.release(broken);
  };

  const runInTransaction = async <T>(
    callback: (ctx: PgContext<TClient>) => Promise<T>,
    { isolationLevel = "read committed", beginsWithCall = false }: TransactionOptions = {},
  ): Promise<T> => {
    const client = await borrow();
    let broken: Error | undefined;
    try {
      const begin = `BEGIN ISOLATION LEVEL ${isolationLevel}`;
      if (beginsWithCall && canSendTogether(client)) unbegun.set(client, begin);
      else await query(client, begin);
      inTransaction.add(client);
      const result = await callback({ client });
      if (!unbegun.has(client) && !committed.has(client)) checkCommitted(await query(client, "COMMIT"));
      return result;
    } catch (error) {
      if (!unbegun.has(client)) {
        await query(client, "ROLLBACK").catch((failure: unknown) => {
          broken = asError(failure);
        });
      }
      if (doubtful.has(client)) broken ??= asError(error);
      // A new connection may lead to the new primary; this one never will.
      if (isFromReadOnlyServer(error)) broken ??= asError(error);
      // A handler or call that timed out may still use the client, and must not do so in another transaction: the client is
      // not returned to the pool.
      if (error instanceof JobAttemptEndedError || error instanceof StoreCallTimeoutError) broken ??= error;
      throw error;
    } finally {
      for (const state of [inTransaction, unbegun, committed, doubtful]) state.delete(client);
      release(client, broken);
    }
  };

  return {
    contextKeys: ["client"],
    provideContext: async (callback) => {
      const client = await borrow();
      let broken: Error | undefined;
      try {
        return await callback({ client });
      } catch (error) {
        if (isFromReadOnlyServer(error)) broken = asError(error);
        throw error;
      } finally {
        release(client, broken);
      }
    },
    runInTransaction,
    setsIsolationLevel: true,
    isInTransaction: async (ctx) => {
      try {
        const client = isObject(ctx) ? ctx["client"] : undefined;
        if (!isObject(client)) return false;
        if (inTransaction.has(client)) return true;
        const { getTransactionStatus } = client as unknown as PgClientLike;
        return typeof getTransactionStatus === "function" && getTransactionStatus.call(client) === "T";
      } catch {
        return false;
      }
    },
    executeSql: (ctx, statement) => {
      const client = ctx?.client;
      const begin = client && unbegun.get(client);
      if (begin === undefined) return (client ?? pool).query(toQuery(statement)).then(rowsOf);
      unbegun.delete(client!);
      return together(client!, statement, { before: begin }).then(([, result]) => rowsOf(result!));
    },
    executeLast: async ({ client }, statement) => {
      const commit = canSendTogether(client)
        ? await together(client, statement, { after: "COMMIT" })
        : [await client.query(toQuery(statement)), await query(client, "COMMIT")];
      committed.add(client);
      inTransaction.delete(client);
      checkCommitted(commit[1]!);
      return rowsOf(commit[0]!);
    },
  };
};
