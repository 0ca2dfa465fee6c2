/** What is used of a transaction of `postgres`. */
export interface PostgresJsTransactionLike {
  unsafe(
    query: string,
    parameters?: never[],
    options?: { readonly prepare?: boolean },
  ): PromiseLike<Iterable<unknown>>;
  savepoint(...args: never[]): unknown;
}

/** What is used of a query of the library. `handler` sends it, and the connection settles it. */
interface Query {
  handler: { (query: Query): unknown; debug?: unknown };
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** The state of the connection of a transaction and its savepoints. */
export interface TransactionState {
  /** The connection was lost while the callback was running. */
  isLost: boolean;
  /** Queries of the callback that have no answer yet. */
  readonly open: Set<Query>;
}

export const newTransactionState = (): TransactionState => ({ isLost: false, open: new Set() });

/** As the library reports it, so that it counts as transient. */
export const lostConnection = (): Error =>
  Object.assign(new Error("The connection has been lost."), { code: "CONNECTION_CLOSED" });

const codesOfLoss: ReadonlySet<unknown> = new Set([
  "CONNECTION_CLOSED",
  "ECONNABORTED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "ENOTCONN",
  "EPIPE",
  "ETIMEDOUT",
]);

/** Whether the error reports that a connection has ended. */
const isLoss = (error: unknown): boolean => codesOfLoss.has((error as { code?: unknown } | null)?.code);

/**
 * Waits until the library has closed every failed connection. A socket reports an error at once, but closes only at the end of
 * that turn of the event loop. Queries in between are never answered, and make the connection unusable. Timers run after that.
 */
const connectionsClosed = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/** Delays a rejection until it is safe to use the pool again. */
export const rejectSafely = async <T>(work: PromiseLike<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (isLoss(error)) await connectionsClosed();
    throw error;
  }
};

/** Stops sending, and rejects all open queries: the library never settles some of them. */
const lose = (state: TransactionState): void => {
  state.isLost = true;
  const open = [...state.open];
  state.open.clear();
  for (const query of open) query.reject(lostConnection());
};

const isQuery = (value: unknown): value is Query =>
  typeof value === "object" && value !== null && "handler" in value && "reject" in value;

/** Rejects the query if the connection is already lost, and marks the connection as lost if the query fails with that. */
const watch = (query: Query, state: TransactionState): void => {
  const { handler } = query;
  const send = (): unknown => {
    if (state.isLost) return query.reject(lostConnection());
    const { resolve, reject } = query;
    query.resolve = (result) => {
      state.open.delete(query);
      resolve(result);
    };
    query.reject = (error) => {
      state.open.delete(query);
      if (isLoss(error)) lose(state);
      reject(error);
    };
    state.open.add(query);
    return handler(query);
  };
  query.handler = Object.assign(send, { debug: handler.debug });
};

/** The transaction for the callback, which refuses statements once the connection is lost. */
const guard = (call: Function, state: TransactionState): Function =>
  new Proxy(call, {
    apply: (target, self, args) => {
      if (state.isLost) throw lostConnection();
      const result: unknown = Reflect.apply(target, self, args);
      if (isQuery(result)) watch(result, state);
      return result;
    },
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return name === "savepoint" ? guardSavepoints(value, state) : guard(value, state);
    },
  });

type Callback = (transaction: never) => unknown;

/** The `savepoint` for the callback, which calls it with a nested callback or as a template. */
const guardSavepoints =
  (savepoint: Function, state: TransactionState) =>
  (...args: unknown[]): Promise<unknown> => {
    if (state.isLost) throw lostConnection();
    const callback = args.at(-1);
    if (typeof callback !== "function") return savepoint(...args) as Promise<unknown>;
    return guardSavepoint(
      (work) => savepoint(...args.slice(0, -1), work),
      state,
      async (transaction) => {
        const result = (callback as Callback)(transaction as never);
        return Array.isArray(result) ? Promise.all(result) : result;
      },
    );
  };

/**
 * Calls back with a transaction of `postgres` that sends nothing once its connection is lost.
 *
 * The library would send the statements of the callback, and the COMMIT or ROLLBACK that follows. On a closed connection that
 * ends the process; on one that is in use again it becomes part of another transaction. So statements are refused, and the library
 * gets the result of `onLost` instead of that of the callback.
 */
const callWithGuard = async <TTransaction extends PostgresJsTransactionLike, T>(
  transaction: TTransaction,
  state: TransactionState,
  callback: (transaction: TTransaction) => Promise<T>,
  onLost: (error: unknown) => Promise<never>,
): Promise<T> => {
  const result = callback(guard(transaction as unknown as Function, state) as unknown as TTransaction);
  let error: unknown;
  try {
    await result;
  } catch (reason) {
    error = reason;
    await connectionsClosed();
  }
  return state.isLost ? onLost(error ?? lostConnection()) : result;
};

const never = (): Promise<never> => new Promise(() => {});

// A connection that fails is closed in the same turn.
const closeDeadlineMs = 5_000;

/** Runs `begin` of the library. */
export const guardBegin = async <TTransaction extends PostgresJsTransactionLike, T>(
  begin: (callback: (transaction: TTransaction) => Promise<T>) => Promise<unknown>,
  callback: (transaction: TTransaction) => Promise<T>,
): Promise<T> => {
  const state = newTransactionState();
  let isReported = false;
  let settled: Promise<unknown> | undefined;
  // If the library does not report the loss, there was none, and it has to roll back.
  const onLost = (error: unknown): Promise<never> =>
    new Promise((_resolve, reject) => {
      setTimeout(() => {
        if (!isReported) reject(error);
      }, closeDeadlineMs).unref();
    });
  const run = (transaction: TTransaction): Promise<T> => {
    const result = callback(transaction);
    settled = result.catch(() => {});
    return result;
  };
  try {
    return (await begin((transaction) => callWithGuard(transaction, state, run, onLost))) as T;
  } catch (error) {
    isReported = true;
    // While the callback is running, only a loss rejects. Wait for the callback, as with any other error: it must not run twice
    // at a time.
    lose(state);
    await settled;
    if (isLoss(error)) await connectionsClosed();
    throw error;
  }
};

/** Runs `savepoint` of the library, in a transaction with this state. */
export const guardSavepoint = <TTransaction extends PostgresJsTransactionLike, T>(
  savepoint: (callback: (transaction: TTransaction) => Promise<T>) => unknown,
  state: TransactionState,
  callback: (transaction: TTransaction) => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    let thrown: unknown;
    const work = async (transaction: TTransaction): Promise<T> => {
      try {
        return await callback(transaction);
      } catch (error) {
        thrown = error;
        throw error;
      }
    };
    const onLost = (error: unknown): Promise<never> => {
      reject(error);
      return never();
    };
    const result = savepoint((transaction) => callWithGuard(transaction, state, work, onLost));
    (result as Promise<T>).then(resolve, (error: unknown) => {
      // An error of the callback may be about another connection.
      if (error !== thrown && isLoss(error)) lose(state);
      reject(error);
    });
  });
