import {
  createOpenTransactions,
  StateNotInTransactionError,
  type TransactionFrame,
  TransactionSelfDeadlockError,
} from "leasehold/adapter";
import type { BusyRetry } from "./busy-retry.ts";
import { rollBackAfter, type SqliteConnection } from "./connection.ts";
import { isSqliteError } from "./errors.ts";
import type { WriteQueue } from "./group-commit.ts";

/** Identifies an open transaction or savepoint. Opaque to callers. */
export interface SqliteTransaction {
  readonly store: "sqlite";
}

/** What the context of a transaction has in addition to the provider's context. */
export interface SqliteTransactionContext {
  readonly transaction: SqliteTransaction;
}

interface Damage {
  /** A database error inside the transaction, which must then not commit. Kept at the outermost frame. */
  spoiledBy: unknown;
}

type Frame = TransactionFrame<Damage>;

/** How the store runs transactions. */
export interface Transactions {
  run<T>(
    callback: (context: SqliteTransactionContext) => Promise<T>,
    parent: unknown,
    assertUsable: () => void,
  ): Promise<T>;
  /**
   * Lends the connection for the user's own statements, under the write lock. Without it, a statement could fail with
   * SQLITE_BUSY, and libsql then keeps it active: no transaction of the connection could commit until it is collected.
   */
  provide<T>(callback: () => Promise<T>, assertUsable: () => void): Promise<T>;
  /** Gives the callback exclusive use of the connection, outside any transaction. */
  exclusively<T>(callback: () => Promise<T>, assertUsable: () => void): Promise<T>;
  /** Makes a store call inside the transaction of this context. */
  inside<T>(operation: string, ctx: unknown, action: () => T): T;
  has(ctx: unknown): boolean;
  /** Whether the caller runs inside the frame that has the connection. */
  isInside(): boolean;
  /** Throws when the caller runs inside the open transaction: it would wait for its own end. */
  assertNotInside(operation: string): void;
}

export interface TransactionsOptions {
  readonly db: SqliteConnection;
  readonly writeQueue: WriteQueue;
  readonly retryBusy: BusyRetry;
  readonly onCommit: () => void;
}

export const createTransactions = ({
  db,
  writeQueue,
  retryBusy,
  onCommit,
}: TransactionsOptions): Transactions => {
  const frames = createOpenTransactions<Damage>("transaction");
  const { open } = frames;
  // The frame that has the connection: the open transaction, or a frame made by `provide`.
  let holder: Frame | null = null;

  const createFrame = (parent: Frame | null): Frame => frames.createFrame(parent, { spoiledBy: undefined });

  const damageTo = (frame: Frame): Damage => (frame.root ?? frame).own;

  const isInside = (): boolean => {
    const root = frames.currentRoot();
    return root !== undefined && root === holder;
  };

  const assertNotInside = (operation: string): void => {
    if (isInside()) throw new TransactionSelfDeadlockError(operation);
  };

  const savepointAt = (depth: number): string => `leasehold_${depth}`;

  const beginImmediate = (): Promise<void> => retryBusy(() => db.exec("BEGIN IMMEDIATE"));

  const begin = async (parent: Frame | null): Promise<Frame> => {
    const frame = createFrame(parent);
    if (parent === null) {
      await beginImmediate();
      holder = frame;
    } else db.exec(`SAVEPOINT ${savepointAt(open.length)}`);
    open.push(frame);
    return frame;
  };

  const commit = (depth: number): void => {
    if (depth > 0) db.exec(`RELEASE ${savepointAt(depth)}`);
    else db.exec("COMMIT");
  };

  const rollBack = (depth: number): void => {
    if (depth > 0) db.exec(`ROLLBACK TO ${savepointAt(depth)}; RELEASE ${savepointAt(depth)}`);
    else db.exec("ROLLBACK");
  };

  /** After an error, which is the one to report. SQLite may have rolled back already. */
  const rollBackQuietly = (depth: number): void => {
    try {
      rollBack(depth);
    } catch (error) {
      const root = open[0];
      if (depth > 0 && root !== undefined) root.own.spoiledBy ??= error;
    }
  };

  /** Ends the frame, and the savepoints in it that are still open because the callback did not await them. */
  const end = (frame: Frame, outcome: "commit" | "rollback"): void => {
    const depth = open.indexOf(frame);
    if (depth < 0) {
      if (outcome === "commit") throw new StateNotInTransactionError("runInTransaction");
      return;
    }
    const { spoiledBy } = damageTo(frame);
    open.length = depth;
    if (outcome === "rollback" || spoiledBy !== undefined) {
      rollBackQuietly(depth);
      if (outcome === "commit") throw spoiledBy;
      return;
    }
    try {
      commit(depth);
    } catch (error) {
      rollBackQuietly(depth);
      throw error;
    }
    if (depth === 0) onCommit();
  };

  const runFrame = async <T>(
    parent: Frame | null,
    callback: (context: SqliteTransactionContext) => Promise<T>,
  ): Promise<T> => {
    const frame = await begin(parent);
    const transaction: SqliteTransaction = Object.freeze({ store: "sqlite" });
    let result: T;
    try {
      result = await frames.enter(frame, transaction, () => callback({ transaction }));
    } catch (error) {
      end(frame, "rollback");
      throw error;
    }
    end(frame, "commit");
    return result;
  };

  const runInHold = async <T>(assertUsable: () => void, work: () => Promise<T>): Promise<T> => {
    const release = await writeQueue.hold();
    try {
      assertUsable();
      return await work();
    } finally {
      holder = null;
      frames.forgetScope();
      release();
    }
  };

  return {
    isInside,
    assertNotInside,
    run: async (callback, parentContext, assertUsable) => {
      if (parentContext !== undefined)
        return frames.inSavepoint(parentContext, assertUsable, (parent) => runFrame(parent, callback));
      assertNotInside("runInTransaction");
      return runInHold(assertUsable, () => runFrame(null, callback));
    },
    provide: async (callback, assertUsable) => {
      assertNotInside("provideContext");
      return runInHold(assertUsable, async () => {
        await beginImmediate();
        holder = createFrame(null);
        try {
          const result = await frames.enter(holder, {}, callback);
          commit(0);
          onCommit();
          return result;
        } catch (error) {
          rollBackAfter(db);
          throw error;
        }
      });
    },
    exclusively: async (callback, assertUsable) => {
      assertNotInside("migrate");
      return runInHold(assertUsable, callback);
    },
    inside: (operation, ctx, action) => {
      const frame = frames.find(ctx);
      if (frame === undefined) throw new StateNotInTransactionError(operation);
      const damage = damageTo(frame);
      if (damage.spoiledBy !== undefined) throw damage.spoiledBy;
      try {
        return action();
      } catch (error) {
        if (isSqliteError(error)) damage.spoiledBy = error;
        throw error;
      }
    },
    has: (ctx) => frames.find(ctx) !== undefined,
  };
};
