import type { StateCall } from "leasehold/adapter";
import type { BusyRetry } from "./busy-retry.ts";
import { rollBackAfter, type SqliteConnection } from "./connection.ts";
import type { WriteQueue } from "./group-commit.ts";
import type { Transactions } from "./transactions.ts";

type Call = StateCall<object>;

/** A synchronous operation. */
type Action<TCall, TResult> = (db: SqliteConnection, call: TCall, now: number) => TResult;

/** Makes one call of the adapter. `method` is its name, for errors. */
type Run = <TCall extends Call, TResult>(
  method: string,
  call: TCall,
  action: Action<TCall, TResult>,
) => Promise<TResult>;

/** The ways in which a method of the adapter can run on the database. */
export interface ConnectionRunner {
  /** In the caller's transaction if it has one, otherwise in one of its own. */
  readonly write: Run;
  readonly writeInTransaction: Run;
  /** Without a transaction it reads one snapshot of the committed data. */
  readonly read: Run;
}

export interface ConnectionRunnerOptions {
  readonly writer: SqliteConnection;
  readonly reader: SqliteConnection | null;
  readonly writeQueue: WriteQueue;
  readonly transactions: Transactions;
  readonly retryBusy: BusyRetry;
  readonly assertUsable: () => void;
  readonly now: () => number;
}

/** Only inside a transaction do several statements read the same snapshot. */
const readOnce = <T>(db: SqliteConnection, action: () => T): T => {
  db.exec("BEGIN");
  try {
    const result = action();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    // After a failed COMMIT, too: the connection could not begin another transaction.
    rollBackAfter(db);
    throw error;
  }
};

export const createConnectionRunner = (options: ConnectionRunnerOptions): ConnectionRunner => {
  const { writer, reader, writeQueue, transactions, retryBusy, assertUsable } = options;
  const timeOf = (call: Call): number => call.now ?? options.now();

  const writeInTransaction: Run = async (method, call, action) => {
    assertUsable();
    return transactions.inside(method, call.ctx, () => action(writer, call, timeOf(call)));
  };

  const readAlone = async <T>(method: string, action: (db: SqliteConnection) => T): Promise<T> => {
    if (reader !== null) return retryBusy(() => readOnce(reader, () => action(reader)));
    if (!writeQueue.isHeld()) return retryBusy(() => readOnce(writer, () => action(writer)));
    transactions.assertNotInside(method);
    const release = await writeQueue.hold();
    try {
      assertUsable();
      return await retryBusy(() => readOnce(writer, () => action(writer)));
    } finally {
      release();
    }
  };

  return {
    writeInTransaction,
    write: async (method, call, action) => {
      if (call.ctx !== undefined) return writeInTransaction(method, call, action);
      assertUsable();
      transactions.assertNotInside(method);
      return writeQueue.write(() => action(writer, call, timeOf(call)));
    },
    read: async (method, call, action) => {
      if (call.ctx !== undefined) return writeInTransaction(method, call, action);
      assertUsable();
      return readAlone(method, (db) => action(db, call, timeOf(call)));
    },
  };
};
