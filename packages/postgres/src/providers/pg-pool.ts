import { InvalidOptionError } from "leasehold/adapter";
import type { PgStateProvider, SqlStatement } from "../provider.ts";

/** What is used of a client of `pg`. */
export interface PgClientLike {
  query(config: {
    readonly text: string;
    readonly values: unknown[];
    readonly name?: string;
  }): Promise<{ readonly rows: Record<string, unknown>[] }>;
  /** From version 8.17 on. */
  getTransactionStatus?(): string | null;
}

export interface PgPoolClientLike extends PgClientLike {
  release(error?: Error | boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
}

/** What is used of a `Pool` of `pg`. */
export interface PgPoolLike<TClient extends PgPoolClientLike> {
  connect(): Promise<TClient>;
  query: PgClientLike["query"];
  on(event: "error", listener: (error: Error) => void): unknown;
  listenerCount(event: "error"): number;
}

export interface PgContext<TClient> {
  readonly client: TClient;
}

export interface PgPoolProviderOptions<TClient extends PgPoolClientLike> {
  /** Yours: the provider borrows its clients and never ends it. */
  readonly pool: PgPoolLike<TClient>;
  /**
   * Keeps the statements of the hot path prepared on each connection. Turn it off behind a pooler in transaction mode
   * that does not track prepared statements. Default: true.
   */
  readonly prepareStatements?: boolean | undefined;
}

const ignore = (): void => {};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** A provider over a `Pool` of `pg`. Its context is `{ client }`, with a client in an open transaction. */
export const createPgPoolProvider = <TClient extends PgPoolClientLike>({
  pool,
  prepareStatements = true,
}: PgPoolProviderOptions<TClient>): PgStateProvider<PgContext<TClient>, PgContext<TClient>> => {
  if (!isObject(pool) || typeof pool.connect !== "function" || typeof pool.query !== "function") {
    throw new InvalidOptionError("pool", "must be a Pool of pg", typeof pool);
  }
  // An idle client whose server goes away would otherwise end the process. The pool replaces it by itself.
  if (pool.listenerCount("error") === 0) pool.on("error", ignore);

  const toQuery = ({ sql, params, name }: SqlStatement): Parameters<PgClientLike["query"]>[0] => ({
    text: sql,
    values: [...params],
    ...(prepareStatements && name !== undefined ? { name } : {}),
  });

  // For versions of `pg` that cannot tell themselves.
  const inTransaction = new WeakSet<object>();

  /** The pool does not listen to a client while it is lent out; one that then loses its server would end the process. */
  const borrow = async (): Promise<TClient> => {
    const client = await pool.connect();
    client.on("error", ignore);
    return client;
  };
  const giveBack = (client: TClient, broken?: Error): void => {
    client.off("error", ignore);
    // A client that cannot even roll back is of no use to the next.
    client.release(broken);
  };

  const runInTransaction = async <T>(callback: (ctx: PgContext<TClient>) => Promise<T>): Promise<T> => {
    const client = await borrow();
    let broken: Error | undefined;
    try {
      await client.query({ text: "BEGIN", values: [] });
      inTransaction.add(client);
      const result = await callback({ client });
      await client.query({ text: "COMMIT", values: [] });
      return result;
    } catch (error) {
      await client.query({ text: "ROLLBACK", values: [] }).catch((failure: unknown) => {
        broken = failure instanceof Error ? failure : new Error(String(failure));
      });
      throw error;
    } finally {
      inTransaction.delete(client);
      giveBack(client, broken);
    }
  };

  return {
    provideContext: async (callback) => {
      const client = await borrow();
      try {
        return await callback({ client });
      } finally {
        giveBack(client);
      }
    },
    runInTransaction,
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
    executeSql: async (ctx, statement) => {
      const { rows } = await (ctx?.client ?? pool).query(toQuery(statement));
      return rows;
    },
  };
};
