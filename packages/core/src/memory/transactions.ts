import { StateNotInTransactionError, TransactionSelfDeadlockError } from "../store/errors.ts";
import type { JobStore } from "./job-store.ts";
import { createJournal, type Journal, mergeJournal } from "./journal.ts";
import type { TableRows, Tables } from "./tables.ts";
import { createAsyncLock } from "../base/async.ts";
import { createOpenTransactions, type TransactionFrame } from "../store/open-transactions.ts";

/** Stands for a transaction, or for none; what it is in is known only to the adapter that made it. */
export interface InProcessTransaction {
  readonly store: "in-process";
}

export interface InProcessContext {
  readonly client: InProcessTransaction;
}

/**
 * One writer at a time, as in SQLite. A write of its own runs at once while no transaction is open, without so much as
 * a promise; else it waits in line. Reads never wait.
 */
export interface Transactions {
  /** Runs `action` as a transaction of its own. */
  write<T>(operation: string, action: () => T): Promise<T>;
  run<T>(
    callback: (ctx: InProcessContext) => Promise<T>,
    parent: unknown,
    assertUsable: () => void,
  ): Promise<T>;
  has(ctx: unknown): boolean;
  /** The journals of the open transaction, outermost first; empty when none is open. */
  journals(): readonly Journal[];
  /** What is stored beside jobs and rules, without the changes of the open transaction. */
  committedRows(): TableRows;
}

export const createClient = (): InProcessTransaction => Object.freeze({ store: "in-process" });

/** What a frame would have to put back. */
interface Before {
  readonly journal: Journal;
  readonly rows: TableRows;
}

type Frame = TransactionFrame<Before>;

export const createTransactions = (store: JobStore, tables: Tables): Transactions => {
  const turns = createAsyncLock();
  // Every write is undone with the innermost frame.
  const transactions = createOpenTransactions<Before>("client");
  const { open } = transactions;

  const endTurn = (): void => {
    turns.release();
    if (!turns.isHeld()) transactions.forgetScope();
  };

  const assertNotInside = (operation: string): void => {
    const root = transactions.currentRoot();
    if (root !== undefined && root === open[0]) throw new TransactionSelfDeadlockError(operation);
  };

  const begin = (parent: Frame | null): Frame => {
    const frame = transactions.createFrame(parent, { journal: createJournal(), rows: tables.rows() });
    open.push(frame);
    store.setJournal(frame.own.journal);
    return frame;
  };

  /** Ends the frame, and with it any savepoint in it that nobody has awaited. False when it had ended before. */
  const end = (frame: Frame, outcome: "commit" | "rollback"): boolean => {
    const depth = open.indexOf(frame);
    if (depth < 0) return false;
    while (open.length > depth) {
      const { journal, rows } = open.pop()!.own;
      const outer = open.at(-1);
      if (outcome === "rollback") {
        store.undo(journal);
        tables.restore(rows);
      } else if (outer !== undefined) mergeJournal(journal, outer.own.journal);
    }
    store.setJournal(open.at(-1)?.own.journal ?? null);
    return true;
  };

  const runFrame = async <T>(
    parent: Frame | null,
    callback: (ctx: InProcessContext) => Promise<T>,
  ): Promise<T> => {
    const frame = begin(parent);
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
      await turns.acquire();
      try {
        return action();
      } finally {
        endTurn();
      }
    },
    run: async (callback, parentContext, assertUsable) => {
      if (parentContext !== undefined)
        return transactions.inSavepoint(parentContext, assertUsable, (parent) => runFrame(parent, callback));
      assertNotInside("runInTransaction");
      await turns.acquire();
      try {
        assertUsable();
        return await runFrame(null, callback);
      } finally {
        endTurn();
      }
    },
    has: (ctx) => transactions.find(ctx) !== undefined,
    journals: () => open.map(({ own }) => own.journal),
    committedRows: () => open[0]?.own.rows ?? tables.rows(),
  };
};
