import { AsyncLocalStorage } from "node:async_hooks";
import { StateNotInTransactionError, TransactionSelfDeadlockError } from "../errors.ts";
import type { JobStore } from "./job-store.ts";
import type { Journal } from "./journal.ts";
import { mergeJournal } from "./journal.ts";
import { createMutex } from "./mutex.ts";
import type { Mutex } from "./mutex.ts";

/** Stands for a transaction, or for none; what it is in is known only to the adapter that made it. */
export interface InProcessTransaction {
  readonly store: "in-process";
}

export interface InProcessContext {
  readonly client: InProcessTransaction;
}

/** A transaction, or a savepoint inside one. */
interface Frame {
  readonly root: Frame | null;
  readonly parent: Frame | null;
  readonly journal: Journal;
  /** Savepoints directly inside take turns, as they would on one database connection. */
  readonly savepoints: Mutex;
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
}

export const createClient = (): InProcessTransaction => Object.freeze({ store: "in-process" });

export const createTransactions = (store: JobStore): Transactions => {
  const turns = createMutex();
  // From the transaction down to the innermost savepoint; every write is undone with the innermost.
  const open: Frame[] = [];
  const frames = new WeakMap<object, Frame>();
  // Which frame the running code was called from.
  const scope = new AsyncLocalStorage<Frame>();

  // User code may have spread the context into another object, so the client identifies it, not the object itself.
  const frameOf = (ctx: unknown): Frame | undefined => {
    if (typeof ctx !== "object" || ctx === null) return undefined;
    try {
      const { client } = ctx as { client?: unknown };
      const frame = typeof client === "object" && client !== null ? frames.get(client) : undefined;
      return frame !== undefined && open.includes(frame) ? frame : undefined;
    } catch {
      // A foreign object with a getter that throws is just that: foreign.
      return undefined;
    }
  };

  const endTurn = (): void => {
    turns.release();
    // On Node 20 a storage in use slows down every promise of the process; the next transaction enables it again.
    if (!turns.isHeld()) scope.disable();
  };

  const standsInOpenTransaction = (): boolean => {
    const frame = scope.getStore();
    return frame !== undefined && open.length > 0 && (frame.root ?? frame) === open[0];
  };

  const begin = (parent: Frame | null): Frame => {
    const root = parent === null ? null : (parent.root ?? parent);
    const frame: Frame = { root, parent, journal: new Map(), savepoints: createMutex() };
    open.push(frame);
    store.setJournal(frame.journal);
    return frame;
  };

  /** Ends the frame, and with it any savepoint in it that nobody waited for. False when it had ended before. */
  const end = (frame: Frame, outcome: "commit" | "rollback"): boolean => {
    const depth = open.indexOf(frame);
    if (depth < 0) return false;
    while (open.length > depth) {
      const { journal } = open.pop() as Frame;
      const outer = open.at(-1);
      if (outcome === "rollback") store.undo(journal);
      else if (outer !== undefined) mergeJournal(journal, outer.journal);
    }
    store.setJournal(open.at(-1)?.journal ?? null);
    return true;
  };

  const runFrame = async <T>(
    parent: Frame | null,
    callback: (ctx: InProcessContext) => Promise<T>,
  ): Promise<T> => {
    const frame = begin(parent);
    const client = createClient();
    frames.set(client, frame);
    let result: T;
    try {
      result = await scope.run(frame, () => callback({ client }));
    } catch (error) {
      end(frame, "rollback");
      throw error;
    }
    if (!end(frame, "commit")) throw new StateNotInTransactionError("runInTransaction");
    return result;
  };

  /** Where a savepoint inside `given` has to go: code that stands deeper already would wait for itself there. */
  const innermostFor = (given: Frame): Frame => {
    const here = scope.getStore();
    for (let frame = here ?? null; frame !== null; frame = frame.parent) {
      if (frame === given && here !== undefined && open.includes(here)) return here;
    }
    return given;
  };

  return {
    write: async (operation, action) => {
      if (!turns.isHeld()) return action();
      if (standsInOpenTransaction()) throw new TransactionSelfDeadlockError(operation);
      await turns.acquire();
      try {
        return action();
      } finally {
        endTurn();
      }
    },
    run: async (callback, parentContext, assertUsable) => {
      let parent: Frame | null = null;
      if (parentContext !== undefined) {
        const given = frameOf(parentContext);
        if (given === undefined) throw new StateNotInTransactionError("runInTransaction");
        parent = innermostFor(given);
      } else if (standsInOpenTransaction()) {
        throw new TransactionSelfDeadlockError("runInTransaction");
      }
      await (parent?.savepoints ?? turns).acquire();
      try {
        assertUsable();
        if (parent !== null && !open.includes(parent))
          throw new StateNotInTransactionError("runInTransaction");
        return await runFrame(parent, callback);
      } finally {
        if (parent === null) endTurn();
        else parent.savepoints.release();
      }
    },
    has: (ctx) => frameOf(ctx) !== undefined,
    journals: () => open.map(({ journal }) => journal),
  };
};
