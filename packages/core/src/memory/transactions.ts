import { createAsyncLock } from "../base/async.ts";
import { StateNotInTransactionError, TransactionSelfDeadlockError } from "../store/errors.ts";
import { createOpenTransactions, type TransactionFrame } from "../store/open-transactions.ts";

/**
 * How to undo the changes of the open transaction; null while none is open. Each change adds its inverse. The inverse is
 * itself such a change, so what was undone can be done again.
 */
export interface Journal {
  undos: (() => void)[] | null;
}

/** To be called by every change, with its inverse. */
export const remember = (journal: Journal, undo: () => void): void => {
  journal.undos?.push(undo);
};

/** Reverts these changes, the latest first. Returns what reverts that. */
const revert = (journal: Journal, undos: (() => void)[]): (() => void)[] => {
  const redos: (() => void)[] = [];
  journal.undos = redos;
  for (const undo of undos.reverse()) undo();
  return redos;
};

/** Runs `read` on the store as it was before the open transaction. */
export const readCommitted = <T>(journal: Journal, read: () => T): T => {
  if (journal.undos === null) return read();
  const redos = revert(journal, journal.undos);
  journal.undos = null;
  try {
    return read();
  } finally {
    journal.undos = revert(journal, redos);
  }
};

/** Stands for a transaction, or for none. Only the adapter that created it can find its transaction. */
export interface InProcessTransaction {
  readonly store: "in-process";
}

/** The context of a transaction of the store in memory. */
export interface InProcessContext {
  readonly client: InProcessTransaction;
}

export const createClient = (): InProcessTransaction => Object.freeze({ store: "in-process" });

type Callback<T> = (ctx: InProcessContext) => Promise<T>;
/** One writer at a time, as in SQLite. Reads never wait. */
export interface Transactions {
  /** Runs `action` as a transaction of its own: at once while none is open, otherwise when the open ones have ended. */
  write<T>(operation: string, action: () => T): Promise<T>;
  run<T>(callback: Callback<T>, parent: unknown): Promise<T>;
  has(ctx: unknown): boolean;
}

/** `own` is the position in the journal at which the transaction or savepoint begins. */
type Frame = TransactionFrame<number>;

export const createTransactions = (journal: Journal, assertUsable: () => void): Transactions => {
  const turns = createAsyncLock();
  const transactions = createOpenTransactions<number>("client");
  const { open } = transactions;

  const takeTurn = async <T>(action: () => T): Promise<Awaited<T>> => {
    await turns.acquire();
    try {
      return await action();
    } finally {
      turns.release();
      if (!turns.isHeld()) transactions.forgetScope();
    }
  };

  const assertNotInside = (operation: string): void => {
    const root = transactions.currentRoot();
    if (root !== undefined && root === open[0]) throw new TransactionSelfDeadlockError(operation);
  };

  /** Ends the frame and every savepoint in it. False when it had ended before. */
  const end = (frame: Frame, outcome: "commit" | "rollback"): boolean => {
    const depth = open.indexOf(frame);
    if (depth < 0 || journal.undos === null) return false;
    open.length = depth;
    const kept = journal.undos;
    if (outcome === "rollback") revert(journal, kept.splice(frame.own));
    journal.undos = depth === 0 ? null : kept;
    return true;
  };

  const runFrame = async <T>(parent: Frame | null, callback: Callback<T>): Promise<T> => {
    assertUsable();
    journal.undos ??= [];
    const frame = transactions.createFrame(parent, journal.undos.length);
    open.push(frame);
    const client = createClient();
    let result: T;
    try {
      result = await transactions.enter(frame, client, () => callback({ client }));
    } catch (error) {
      end(frame, "rollback");
      throw error;
    }
    if (!end(frame, "commit")) throw new StateNotInTransactionError("runInTransaction");
    return result;
  };

  return {
    write: async (operation, action) => {
      if (!turns.isHeld()) return action();
      assertNotInside(operation);
      return takeTurn(action);
    },
    run: async (callback, ctx) => {
      assertUsable();
      if (ctx !== undefined)
        return transactions.inSavepoint(ctx, assertUsable, (parent) => runFrame(parent, callback));
      assertNotInside("runInTransaction");
      return takeTurn(() => runFrame(null, callback));
    },
    has: (ctx) => transactions.find(ctx) !== undefined,
  };
};
