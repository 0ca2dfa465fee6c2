import { AsyncLocalStorage } from "node:async_hooks";
import { StateNotInTransactionError, TransactionSelfDeadlockError } from "leasehold/adapter";
import type { BusyRetry } from "./busy-retry.ts";
import type { SqliteConnection } from "./connection.ts";
import { createMutex, type Mutex } from "./mutex.ts";
import { isSqliteError } from "../sqlite-error.ts";
import type { WriteQueue } from "./group-commit.ts";

/** Stands for one open transaction or savepoint; what it is in is known only to the adapter that made it. */
export interface SqliteTransaction {
  readonly store: "sqlite";
}

/** What a transaction's context has besides what the provider gives. */
export interface SqliteTransactionContext {
  readonly transaction: SqliteTransaction;
}

/** A transaction, or a savepoint inside one. */
interface Frame {
  readonly root: Frame | null;
  readonly parent: Frame | null;
  /** Savepoints directly inside take writeQueue, as there is one connection. */
  readonly savepoints: Mutex;
  /** An error of the database's inside this transaction: what is left of it must not be committed. */
  spoiledBy: unknown;
}

export interface Transactions {
  run<T>(
    callback: (context: SqliteTransactionContext) => Promise<T>,
    parent: unknown,
    assertUsable: () => void,
  ): Promise<T>;
  /** Has the connection alone, outside any transaction. */
  provide<T>(callback: () => Promise<T>, assertUsable: () => void): Promise<T>;
  /** Makes a store call inside the transaction of this context. */
  inside<T>(operation: string, ctx: unknown, action: () => T): T;
  has(ctx: unknown): boolean;
  /** Whether the caller stands in what has the connection. */
  isInside(): boolean;
  /** Throws when the caller stands in the open transaction, for which it would wait for ever. */
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
  // From the transaction down to the innermost savepoint.
  const open: Frame[] = [];
  // Whoever has the connection: the open transaction, or what stands in its place outside of one.
  let holder: Frame | null = null;
  const frames = new WeakMap<object, Frame>();
  // Which frame the running code was called from.
  const scope = new AsyncLocalStorage<Frame>();

  // User code may have spread the context into another object, so a part of it identifies it, not the object itself.
  const frameOf = (ctx: unknown): Frame | undefined => {
    if (typeof ctx !== "object" || ctx === null) return undefined;
    try {
      const { transaction } = ctx as { transaction?: unknown };
      const frame =
        typeof transaction === "object" && transaction !== null ? frames.get(transaction) : undefined;
      return frame !== undefined && open.includes(frame) ? frame : undefined;
    } catch {
      // A foreign object with a getter that throws is just that: foreign.
      return undefined;
    }
  };

  const isInside = (): boolean => {
    const frame = scope.getStore();
    return frame !== undefined && (frame.root ?? frame) === holder;
  };

  const assertNotInside = (operation: string): void => {
    if (isInside()) throw new TransactionSelfDeadlockError(operation);
  };

  const savepointAt = (depth: number): string => `leasehold_${depth}`;

  const createFrame = (parent: Frame | null): Frame => ({
    root: parent === null ? null : (parent.root ?? parent),
    parent,
    savepoints: createMutex(),
    spoiledBy: undefined,
  });

  const begin = async (parent: Frame | null): Promise<Frame> => {
    const frame = createFrame(parent);
    if (parent === null) {
      await retryBusy(() => db.exec("BEGIN IMMEDIATE"));
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

  /** After an error: what matters is that one, not that SQLite may have rolled back by itself already. */
  const rollBackQuietly = (depth: number): void => {
    try {
      rollBack(depth);
    } catch (error) {
      const root = open[0];
      if (depth > 0 && root !== undefined) root.spoiledBy ??= error;
    }
  };

  /** Ends the frame, and with it any savepoint in it that nobody waited for. */
  const end = (frame: Frame, outcome: "commit" | "rollback"): void => {
    const depth = open.indexOf(frame);
    if (depth < 0) {
      if (outcome === "commit") throw new StateNotInTransactionError("runInTransaction");
      return;
    }
    const spoiledBy = (frame.root ?? frame).spoiledBy;
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
    frames.set(transaction, frame);
    let result: T;
    try {
      result = await scope.run(frame, () => callback({ transaction }));
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
      // On Node 20 a storage in use slows down every promise of the process; the next transaction enables it again.
      scope.disable();
      release();
    }
  };

  /** Where a savepoint inside `given` has to go: code that stands deeper already would wait for itself there. */
  const innermostFor = (given: Frame): Frame => {
    const here = scope.getStore();
    for (let frame = here ?? null; frame !== null; frame = frame.parent) {
      if (frame === given && here !== undefined && open.includes(here)) return here;
    }
    return given;
  };

  const runSavepoint = async <T>(
    given: Frame,
    callback: (context: SqliteTransactionContext) => Promise<T>,
    assertUsable: () => void,
  ): Promise<T> => {
    const parent = innermostFor(given);
    await parent.savepoints.acquire();
    try {
      assertUsable();
      if (!open.includes(parent)) throw new StateNotInTransactionError("runInTransaction");
      return await runFrame(parent, callback);
    } finally {
      parent.savepoints.release();
    }
  };

  return {
    isInside,
    assertNotInside,
    run: async (callback, parentContext, assertUsable) => {
      if (parentContext !== undefined) {
        const given = frameOf(parentContext);
        if (given === undefined) throw new StateNotInTransactionError("runInTransaction");
        return runSavepoint(given, callback, assertUsable);
      }
      assertNotInside("runInTransaction");
      return runInHold(assertUsable, () => runFrame(null, callback));
    },
    provide: async (callback, assertUsable) => {
      assertNotInside("provideContext");
      return runInHold(assertUsable, () => {
        holder = createFrame(null);
        return scope.run(holder, callback);
      });
    },
    inside: (operation, ctx, action) => {
      const frame = frameOf(ctx);
      if (frame === undefined) throw new StateNotInTransactionError(operation);
      const root = frame.root ?? frame;
      if (root.spoiledBy !== undefined) throw root.spoiledBy;
      try {
        return action();
      } catch (error) {
        if (isSqliteError(error)) root.spoiledBy = error;
        throw error;
      }
    },
    has: (ctx) => frameOf(ctx) !== undefined,
  };
};
