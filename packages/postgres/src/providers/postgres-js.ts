import { InvalidOptionError, type TransactionOptions } from "leasehold/adapter";
import { isFromReadOnlyServer } from "../database/errors.ts";
import {
  type PgStateProvider,
  readKnownOptions,
  type SqlRow,
  type SqlStatement,
} from "../database/provider.ts";
import {
  guardBegin,
  guardSavepoint,
  lostConnection,
  newTransactionState,
  type PostgresJsTransactionLike,
  rejectSafely,
} from "./postgres-js-transaction.ts";
import { takeTurns } from "./postgres-js-turns.ts";

/** What is used of the function that `postgres()` returns. */
export interface PostgresJsLike<TTransaction extends PostgresJsTransactionLike> {
  unsafe: PostgresJsTransactionLike["unsafe"];
  begin<T>(options: string, callback: (sql: TTransaction) => T | Promise<T>): Promise<unknown>;
}

/** The context of a transaction: the handle that postgres.js has for it. */
export interface PostgresJsTransactionContext<TTransaction> {
  readonly sql: TTransaction;
}

/** Outside any transaction. */
export interface PostgresJsContext {
  readonly sql: { unsafe: PostgresJsTransactionLike["unsafe"] };
}

/** Options of `createPostgresJsStateProvider`. */
export interface PostgresJsProviderOptions<TTransaction extends PostgresJsTransactionLike> {
  /**
   * Yours: the provider never ends it. Create it with `fetch_types: false`: a connection that is lost while the library
   * fetches the types of arrays is an unhandled rejection, and in Node that ends the process. Create it also with a short
   * `backoff`, such as `() => 0.5`: by default the library waits up to 20 seconds before it connects again.
   */
  readonly sql: PostgresJsLike<TTransaction>;
  /** Keeps the statements of the hot path prepared on each connection. Default: true. */
  readonly prepareStatements?: boolean | undefined;
}

/**
 * A provider over `postgres` (postgres.js). Its context is `{ sql }`, with the `sql` of a `begin` callback.
 *
 * Up to version 3.4.9 the library does not always survive the loss of a connection: it may throw an error that cannot be caught,
 * or keep a connection that never answers again (porsager/postgres issues 1066, 1154 and 1208). The provider prevents that in its
 * transactions, but not in transactions that you begin. `pg` has no such problems.
 */
export const createPostgresJsStateProvider = <TTransaction extends PostgresJsTransactionLike>(
  options: PostgresJsProviderOptions<TTransaction>,
): PgStateProvider<PostgresJsTransactionContext<TTransaction>, PostgresJsContext> => {
  const { sql, prepareStatements = true } = readKnownOptions(options, "createPostgresJsStateProvider", {
    sql: true,
    prepareStatements: true,
  });
  const given: unknown = sql;
  if (typeof given !== "function" || !("begin" in given)) {
    throw new InvalidOptionError("sql", "must be what postgres() returns", typeof given);
  }
  const ended = new WeakSet<object>();
  const takeTurn = takeTurns(sql);

  const execute = async (
    on: { unsafe: PostgresJsTransactionLike["unsafe"] },
    { sql: text, params, name }: SqlStatement,
  ): Promise<readonly SqlRow[]> => {
    const prepare = prepareStatements && name !== undefined;
    const result = await rejectSafely(on.unsafe(text, [...params] as never[], { prepare }));
    // With several hosts, the library does not reject the first query of a lost connection. After it has connected again, it
    // resolves the query with a result without a command.
    if ((result as { command?: unknown }).command === null) throw lostConnection();
    return [...result] as SqlRow[];
  };

  const leaveStandbys = createStandbyExit(sql);
  const leavingStandbys = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      leaveStandbys(error);
      throw error;
    }
  };

  const guarded = new WeakSet<object>();

  const run = async <T>(
    callback: (ctx: PostgresJsTransactionContext<TTransaction>) => Promise<T>,
    transaction: TTransaction,
  ): Promise<{ readonly value: T }> => {
    guarded.add(transaction);
    try {
      // Wrapped, because the library awaits whatever a callback returns, arrays of queries included.
      return { value: await callback({ sql: transaction }) };
    } finally {
      ended.add(transaction);
    }
  };

  return {
    contextKeys: ["sql"],
    // No `reserve()`: to release a connection that was lost meanwhile ends the process.
    provideContext: (callback) => callback({ sql }),
    runInTransaction: async <T>(
      callback: (ctx: PostgresJsTransactionContext<TTransaction>) => Promise<T>,
      { isolationLevel = "read committed" }: TransactionOptions = {},
    ) => {
      const begin = `isolation level ${isolationLevel}`;
      const { value } = await leavingStandbys(
        guardBegin<TTransaction, { readonly value: T }>(
          (work) => takeTurn(true, () => sql.begin(begin, work)),
          (transaction) => run(callback, transaction),
        ),
      );
      return value;
    },
    setsIsolationLevel: true,
    // For this library a failed query aborts the whole transaction, unless the savepoint is its own.
    runInSavepoint: async <T>(
      callback: (ctx: PostgresJsTransactionContext<TTransaction>) => Promise<T>,
      parent: PostgresJsTransactionContext<TTransaction>,
    ) => {
      type Work = (transaction: TTransaction) => Promise<{ readonly value: T }>;
      const savepoint = parent.sql.savepoint as (work: Work) => Promise<{ readonly value: T }>;
      const work: Work = (transaction) => run(callback, transaction);
      // A transaction that its user has begun has no guard.
      const { value } = await (guarded.has(parent.sql)
        ? savepoint(work)
        : guardSavepoint<TTransaction, { readonly value: T }>(savepoint, newTransactionState(), work));
      return value;
    },
    isInTransaction: async (ctx) => {
      try {
        const transaction = (ctx as { sql?: unknown } | null | undefined)?.sql;
        if (typeof transaction !== "function") return false;
        // The `sql` of a `begin` or `savepoint` callback has `savepoint`; the outer one does not.
        return "savepoint" in transaction && !ended.has(transaction);
      } catch {
        return false;
      }
    },
    executeSql: (ctx, statement) => {
      const on = ctx?.sql ?? sql;
      // In a transaction, its connection is still in use.
      return on === sql
        ? leavingStandbys(takeTurn(!prepareStatements, () => execute(sql, statement)))
        : execute(on, statement);
    },
  };
};

// The server ends a session that is idle for a millisecond. A query that is sent at that very time has not begun and fails with a
// transient error, so core repeats it.
const endOnStandby = `SELECT pg_backend_pid() AS pid,
  CASE WHEN pg_is_in_recovery() THEN set_config('idle_session_timeout', '1', false) END AS timeout`;

const mostConnections = 100;

const deadlineMs = 1_000;

/**
 * Ends the connections of a pool that lead to a standby, after an error that only a standby causes.
 *
 * The library searches for a primary when it connects (`target_session_attrs`). But if the server ended the previous connection
 * during a query, it takes any host. Such a connection would stay in the pool, and every write on it would fail. The library
 * cannot close a single connection. So a query visits all open ones: the library always uses the least recently used.
 */
export const createStandbyExit = (sql: {
  unsafe: PostgresJsTransactionLike["unsafe"];
}): ((error: unknown) => void) => {
  let isUnderWay = false;

  const visit = async (): Promise<string> => {
    const [row] = await sql.unsafe(endOnStandby);
    const { pid, timeout } = row as { pid: number; timeout: string | null };
    return `${pid} ${timeout}`;
  };
  const visitAll = async (): Promise<void> => {
    const visited = new Set<string>();
    while (visited.size < mostConnections) {
      const session = await visit();
      if (visited.has(session)) return;
      visited.add(session);
    }
  };

  const leave = async (): Promise<void> => {
    isUnderWay = true;
    // A server that does not answer must not prevent the next visit.
    const deadline = setTimeout(() => (isUnderWay = false), deadlineMs);
    deadline.unref();
    try {
      await visitAll();
    } catch {
      // The next failed statement calls again.
    }
    clearTimeout(deadline);
    isUnderWay = false;
  };

  return (error) => {
    if (!isUnderWay && isFromReadOnlyServer(error)) void leave();
  };
};
