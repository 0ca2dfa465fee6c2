import { AsyncLocalStorage } from "node:async_hooks";
import { createAsyncLock, type AsyncLock } from "../base/async.ts";
import { StateNotInTransactionError } from "./errors.ts";

/** A transaction, or a savepoint inside one. `own` is what the store keeps for it. */
export interface TransactionFrame<TOwn> {
  readonly root: TransactionFrame<TOwn> | null;
  readonly parent: TransactionFrame<TOwn> | null;
  /** Savepoints directly inside run one after the other, as on one database connection. */
  readonly savepoints: AsyncLock;
  readonly own: TOwn;
}

/** The open transaction of a store that has one writer at a time, and the savepoints in it. */
export interface OpenTransactions<TOwn> {
  /** From the transaction down to the innermost savepoint. The store adds and removes them. */
  readonly open: TransactionFrame<TOwn>[];
  createFrame(parent: TransactionFrame<TOwn> | null, own: TOwn): TransactionFrame<TOwn>;
  /** The open frame of a context; undefined for any other object. */
  find(ctx: unknown): TransactionFrame<TOwn> | undefined;
  /** Runs the callback as code inside the frame. `handle` identifies the frame in contexts. */
  enter<T>(frame: TransactionFrame<TOwn>, handle: object, callback: () => Promise<T>): Promise<T>;
  /** The transaction that the running code was called from, open or not. */
  currentRoot(): TransactionFrame<TOwn> | undefined;
  /** To be called when no transaction is open any more. */
  forgetScope(): void;
  /** Runs `callback` when it may open a savepoint inside the frame of this context, with the parent to use. */
  inSavepoint<T>(
    ctx: unknown,
    assertUsable: () => void,
    callback: (parent: TransactionFrame<TOwn>) => Promise<T>,
  ): Promise<T>;
}

/** `property` is where a context has the handle of its transaction. */
export const createOpenTransactions = <TOwn>(property: string): OpenTransactions<TOwn> => {
  type Frame = TransactionFrame<TOwn>;
  const open: Frame[] = [];
  const frames = new WeakMap<object, Frame>();
  // Which frame the running code was called from.
  const scope = new AsyncLocalStorage<Frame>();

  // User code may have spread the context into another object. So the handle identifies it, not the object.
  const find = (ctx: unknown): Frame | undefined => {
    if (typeof ctx !== "object" || ctx === null) return undefined;
    try {
      const handle = (ctx as Record<string, unknown>)[property];
      const frame = typeof handle === "object" && handle !== null ? frames.get(handle) : undefined;
      return frame !== undefined && open.includes(frame) ? frame : undefined;
    } catch {
      // A getter threw: the object is not one of ours.
      return undefined;
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

  return {
    open,
    find,
    createFrame: (parent, own) => ({
      root: parent === null ? null : (parent.root ?? parent),
      parent,
      savepoints: createAsyncLock(),
      own,
    }),
    enter: (frame, handle, callback) => {
      frames.set(handle, frame);
      return scope.run(frame, callback);
    },
    currentRoot: () => {
      const frame = scope.getStore();
      return frame?.root ?? frame;
    },
    // On Node 20 an active storage slows down every promise of the process. The next transaction enables it again.
    forgetScope: () => scope.disable(),
    inSavepoint: async (ctx, assertUsable, callback) => {
      const given = find(ctx);
      if (given === undefined) throw new StateNotInTransactionError("runInTransaction");
      const parent = innermostFor(given);
      await parent.savepoints.acquire();
      try {
        assertUsable();
        if (!open.includes(parent)) throw new StateNotInTransactionError("runInTransaction");
        return await callback(parent);
      } finally {
        parent.savepoints.release();
      }
    },
  };
};
