import { AsyncLocalStorage } from "node:async_hooks";
import { StateNotInTransactionError, TransactionSelfDeadlockError } from "leasehold/adapter";
import type { BusyRetry } from "./busy-retry.ts";
import type { SqliteConnection } from "./connection.ts";
import { createMutex, type Mutex } from "./mutex.ts";
import { isSqliteError } from "../sqlite-error.ts";
import type { WriteQueue } from "./group-commit.ts";

/** Identifies an open transaction or savepoint. Only the adapter that made it knows what is in it. */
export interface SqliteTransaction {
  readonly store: "sqlite";
}

/** What the context of a transaction has in addition to the provider's context. */
export interface SqliteTransactionContext {
  readonly transaction: SqliteTransaction;
}

/** A transaction, or a savepoint inside one. */
interface Frame {
  readonly root: Frame | null;
  readonly parent: Frame | null;
  /** There is one connection, so savepoints directly inside run one after the other. */
  readonly savepoints: Mutex;
  /** A database error inside this transaction: what is left of it must not be committed. */
  spoiledBy: unknown;
}

export interface Transactions {
  run<T>(
    callback: (context: SqliteTransactionContext) => Promise<T>,
    parent: unknown,
    assertUsable: () => void,
  ): Promise<T>;
  /** Gives the callback the connection for itself, outside any transaction. */
  provide<T>(callback: () => Promise<T>, assertUsable: () => void): Promise<T>;
  /** Makes a store call inside the transaction of this context. */
  inside<T>(operation: string, ctx: unknown, action: () => T): T;
  has(ctx: unknown): boolean;
  /** Whether the caller runs inside what has the connection. */
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
  // From the transaction down to the innermost savepoint.
  const open: Frame[] = [];
  // Who has the connection: the open transaction, or a frame that stands for `provide`.
  let holder: Frame | null = null;
  const frames = new WeakMap<object, Frame>();
  // Which frame the running code was called from.
  const scope = new AsyncLocalStorage<Frame>();

  // User code may have spread the context into another object. So one of its properties identifies it, not the object.
  const frameOf = (ctx: unknown): Frame | undefined => {
    if (typeof ctx !== "object" || ctx === null) return undefined;
    try {
      const { transaction } = ctx as { transaction?: unknown };
      const frame =
        typeof transaction === "object" && transaction !== null ? frames.get(transaction) : undefined;
      return frame !== undefined && open.includes(frame) ? frame : undefined;
    } catch {
      // A getter threw: the object is not one of ours.
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

  /** After an error, which is the one to report. SQLite may have rolled back already. */
  const rollBackQuietly = (depth: number): void => {
    try {
      rollBack(depth);
    } catch (error) {
      const root = open[0];
      if (depth > 0 && root !== undefined) root.spoiledBy ??= error;
    }
  };

  /** Ends the frame, and with it any savepoint in it that nobody has awaited. */
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
      // On Node 20 an active storage slows down every promise of the process. The next transaction enables it again.
      scope.disable();
      release();
    }
  };

  /** Where to open a savepoint inside `given`: in the innermost one that the caller runs in, or it would wait for itself. */
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
