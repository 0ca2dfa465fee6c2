import type { BaseStateAdapterContext, IsolationLevel, TransactionOptions } from "leasehold/adapter";
import type { PgStateProvider, SqlStatement } from "./provider.ts";
import { hasSqlState } from "./transient-errors.ts";

const usual: IsolationLevel = "read committed";
const serialisationFailure = "40001";

export interface IsolatedProvider<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> extends PgStateProvider<TTxContext, TContext> {
  /** Whether each statement of the transaction sees everything that was committed before it. */
  seesLatest(ctx: TTxContext): Promise<boolean>;
}

/** Whether the value of `transaction_isolation` is READ COMMITTED, or READ UNCOMMITTED, which is the same. */
export const isReadCommitted = (level: unknown): boolean =>
  level === "read committed" || level === "read uncommitted";

/**
 * The same provider, with READ COMMITTED for whatever does not ask for another level.
 *
 * The statements are written for READ COMMITTED: a statement that had to wait for a row goes on with what the row is then. At
 * the stricter levels PostgreSQL refuses it instead, and under load it would refuse much that does no harm. The default level
 * of the role or the database belongs to its owner and is not changed; it is looked up once. Where it is READ COMMITTED, as
 * nearly everywhere, a single statement needs no transaction around it.
 */
export const createIsolatedProvider = <
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
>(
  provider: PgStateProvider<TTxContext, TContext>,
): IsolatedProvider<TTxContext, TContext> => {
  // Transactions that are known to be at READ COMMITTED. The level of others has to be looked up.
  const readCommitted = new WeakSet<TTxContext>();
  let defaultLevel: string | undefined;

  const findDefaultLevel = async (): Promise<string> => {
    if (defaultLevel === undefined) {
      const sql = "SELECT current_setting('default_transaction_isolation') AS level";
      const [row] = await provider.executeSql(undefined, { sql, params: [] });
      defaultLevel ??= String(row?.["level"]);
    }
    return defaultLevel;
  };

  /** READ COMMITTED has no such errors: the default was changed since, or is not the same for all connections. */
  const doubtDefaultLevel = (error: unknown): never => {
    if (hasSqlState(error, serialisationFailure)) defaultLevel = "unknown";
    throw error;
  };

  const begin = <T>(callback: (ctx: TTxContext) => Promise<T>, isolationLevel: IsolationLevel): Promise<T> =>
    provider.setsIsolationLevel === true
      ? provider.runInTransaction(callback, { isolationLevel })
      : beginAndSetLevel(callback, isolationLevel);

  const beginAndSetLevel = async <T>(
    callback: (ctx: TTxContext) => Promise<T>,
    isolationLevel: IsolationLevel,
  ): Promise<T> => {
    if ((defaultLevel ?? (await findDefaultLevel())) === isolationLevel) {
      return provider
        .runInTransaction(callback)
        .catch(isolationLevel === usual ? doubtDefaultLevel : undefined);
    }
    return provider.runInTransaction(async (ctx) => {
      const sql = `SET TRANSACTION ISOLATION LEVEL ${isolationLevel}`;
      await provider.executeSql(ctx, { sql, params: [] });
      return callback(ctx);
    });
  };

  const runInTransaction = <T>(
    callback: (ctx: TTxContext) => Promise<T>,
    { isolationLevel = usual }: TransactionOptions = {},
  ): Promise<T> => {
    if (isolationLevel !== usual) return begin(callback, isolationLevel);
    return begin((ctx) => {
      readCommitted.add(ctx);
      return callback(ctx);
    }, usual);
  };

  const runInSavepoint = <T>(callback: (ctx: TTxContext) => Promise<T>, parent: TTxContext): Promise<T> =>
    provider.runInSavepoint!((ctx) => {
      if (readCommitted.has(parent)) readCommitted.add(ctx);
      return callback(ctx);
    }, parent);

  const executeAlone = async (statement: SqlStatement) => {
    if (statement.alone !== true && (defaultLevel ?? (await findDefaultLevel())) !== usual) {
      return begin((ctx) => provider.executeSql(ctx, statement), usual);
    }
    return provider.executeSql(undefined, statement).catch(doubtDefaultLevel);
  };

  return {
    provideContext: (callback) => provider.provideContext(callback),
    runInTransaction,
    ...(provider.runInSavepoint && { runInSavepoint }),
    isInTransaction: (ctx) => provider.isInTransaction(ctx),
    executeSql: (ctx, statement) =>
      ctx === undefined ? executeAlone(statement) : provider.executeSql(ctx, statement),
    hasSingleConnection: provider.hasSingleConnection === true,
    seesLatest: async (ctx) => {
      if (readCommitted.has(ctx) || provider.hasSingleConnection === true) return true;
      const sql = "SELECT current_setting('transaction_isolation') AS level";
      const [row] = await provider.executeSql(ctx, { sql, params: [] });
      return isReadCommitted(row?.["level"]);
    },
  };
};
