import type { StateCall } from "leasehold/adapter";
import type { BusyRetry } from "./busy-retry.ts";
import type { SqliteConnection } from "./connection.ts";
import { rollBackAfter } from "./roll-back.ts";
import type { Transactions } from "./transactions.ts";
import type { WriteQueue } from "./group-commit.ts";

type Call = StateCall<object>;

/** The ways in which a method of the adapter can run on the database. `action` must not wait for anything. */
export interface ConnectionRunner {
  /** In the caller's transaction if it has one, else in one of its own. */
  write<T>(operation: string, call: Call, action: (db: SqliteConnection, now: number) => T): Promise<T>;
  writeInTransaction<T>(
    operation: string,
    call: Call,
    action: (db: SqliteConnection, now: number) => T,
  ): Promise<T>;
  /** Without a transaction it sees one state of what is committed. */
  read<T>(operation: string, call: Call, action: (db: SqliteConnection, now: number) => T): Promise<T>;
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

/** Several statements see the same state only inside a transaction. */
const readOnce = <T>(db: SqliteConnection, action: () => T): T => {
  db.exec("BEGIN");
  let result: T;
  try {
    result = action();
  } catch (error) {
    rollBackAfter(db);
    throw error;
  }
  db.exec("COMMIT");
  return result;
};

export const createConnectionRunner = (options: ConnectionRunnerOptions): ConnectionRunner => {
  const { writer, reader, writeQueue, transactions, retryBusy, assertUsable } = options;
  const timeOf = (call: Call): number => call.now ?? options.now();

  const writeInTransaction: ConnectionRunner["writeInTransaction"] = async (operation, call, action) => {
    assertUsable();
    return transactions.inside(operation, call.ctx, () => action(writer, timeOf(call)));
  };

  const readAlone = async <T>(operation: string, action: (db: SqliteConnection) => T): Promise<T> => {
    if (reader !== null) return retryBusy(() => readOnce(reader, () => action(reader)));
    if (!writeQueue.isHeld()) return retryBusy(() => readOnce(writer, () => action(writer)));
    transactions.assertNotInside(operation);
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
    write: async (operation, call, action) => {
      if (call.ctx !== undefined) return writeInTransaction(operation, call, action);
      assertUsable();
      transactions.assertNotInside(operation);
      return writeQueue.write(() => action(writer, timeOf(call)));
    },
    read: async (operation, call, action) => {
      if (call.ctx !== undefined) return writeInTransaction(operation, call, action);
      assertUsable();
      return readAlone(operation, (db) => action(db, timeOf(call)));
    },
  };
};
