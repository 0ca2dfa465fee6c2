import type { IsolationLevel } from "../../model/isolation-levels.ts";
import type { BaseStateAdapterContext, StateCall } from "../state-call.ts";

export interface TransactionOptions {
  /**
   * How the transaction is isolated from others. Without it the store's usual level applies: `read committed` in
   * PostgreSQL, whatever the default of the role; SQLite and the in-process store know only `serializable`.
   */
  readonly isolationLevel?: IsolationLevel | undefined;
}

export interface Transactions<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> {
  /** Lends a context outside any transaction, for what cannot run inside one. */
  provideContext<T>(callback: (ctx: TContext) => Promise<T>): Promise<T>;

  /**
   * Commits when the callback resolves. Rolls back when it rejects, and passes the rejection on.
   *
   * With `parent` it is nested in that open transaction, and commits or is rolled back with it. The isolation level of
   * an open transaction cannot change, so `options` only come without a parent. What a nested callback's rejection does
   * depends on `capabilities.savepoints`:
   * - true: only what the callback did is undone, and the parent goes on;
   * - false: nothing can be undone alone, so the parent is lost as a whole. The adapter refuses every later call in it
   *   and does not commit it, even if the caller catches the error. Core never nests what it means to undo.
   */
  runInTransaction<T>(
    callback: (ctx: TTxContext) => Promise<T>,
    parent?: TTxContext,
    options?: TransactionOptions,
  ): Promise<T>;

  /** Whether `ctx` is a context of this adapter in an open transaction. False for anything else; never throws. */
  isInTransaction(ctx: unknown): Promise<boolean>;

  /** Whether the same call may succeed if it is made again: a lost connection, a deadlock, a server starting up. */
  isTransientError(error: unknown): boolean;

  /**
   * Whether the store has rolled the transaction back in favour of others: a deadlock, a serialisation failure. Nothing
   * of it was committed, for certain, and it may succeed if it is run again. Never true of a lost connection.
   */
  isRolledBackForOthers(error: unknown): boolean;

  /** The store's clock. */
  getTime(call?: StateCall<TTxContext>): Promise<number>;
}
