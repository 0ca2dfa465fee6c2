import type { PostgresJsTransactionLike } from "./postgres-js.ts";

/** What is known of the connection of a transaction and its savepoints. */
export interface TransactionState {
  /** The connection was lost while the callback was running. */
  isLost: boolean;
}

/** As the library reports it, so that it counts as transient. */
const lostConnection = (): Error =>
  Object.assign(new Error("The connection of this transaction has been lost."), {
    code: "CONNECTION_CLOSED",
  });

const never = new Promise<never>(() => {});

/** By then the library has done what it does when a connection ends. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Refuses statements once the connection is lost. */
const guard = (call: Function, state: TransactionState): Function =>
  new Proxy(call, {
    apply: (target, self, args) => {
      if (state.isLost) throw lostConnection();
      return Reflect.apply(target, self, args);
    },
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? guard(value, state) : value;
    },
  });

/**
 * Calls back with a transaction of `postgres`, such that nothing is sent once its connection is lost.
 *
 * The library would send it: the statements of the callback, and the COMMIT or ROLLBACK that follows. If the connection is
 * still closed, that ends the process; if others use it again, it becomes part of what they do. So statements are refused, and
 * the library never learns how the callback ended. `onLost` does.
 */
const callWithGuard = async <TTransaction extends PostgresJsTransactionLike, T>(
  transaction: TTransaction,
  state: TransactionState,
  callback: (transaction: TTransaction) => Promise<T>,
  onLost: (error: unknown) => void,
): Promise<T> => {
  const result = callback(guard(transaction as unknown as Function, state) as unknown as TTransaction);
  let error: unknown;
  try {
    await result;
  } catch (reason) {
    error = reason;
    // The statement that failed may be the first to tell of the loss.
    await nextTurn();
  }
  if (!state.isLost) return result;
  onLost(error ?? lostConnection());
  return never;
};

/** Runs `begin` of the library. */
export const guardBegin = async <TTransaction extends PostgresJsTransactionLike, T>(
  begin: (callback: (transaction: TTransaction) => Promise<T>) => Promise<unknown>,
  callback: (transaction: TTransaction, state: TransactionState) => Promise<T>,
): Promise<T> => {
  const state: TransactionState = { isLost: false };
  let settled: Promise<unknown> | undefined;
  const run = (transaction: TTransaction): Promise<T> => {
    const result = callback(transaction, state);
    settled = result.catch(() => {});
    return result;
  };
  try {
    return (await begin((transaction) => callWithGuard(transaction, state, run, () => {}))) as T;
  } catch (error) {
    // While the callback is running, only a loss rejects. The callback ends first, as with any other error: it must not run
    // twice at a time.
    state.isLost = true;
    await settled;
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
    const result = savepoint((transaction) => callWithGuard(transaction, state, callback, reject));
    (result as Promise<T>).then(resolve, reject);
  });
