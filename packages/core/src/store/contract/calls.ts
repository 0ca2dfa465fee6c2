/** All levels; also what a store can be asked for that runs one transaction after the other. */
export const isolationLevels = ["read committed", "repeatable read", "serializable"] as const;

/** The isolation level of a transaction. */
export type IsolationLevel = (typeof isolationLevels)[number];

/** What a provider gives user code as its database handle. Its shape is the provider's own. */
export type BaseStateAdapterContext = object;

/** Every method takes these two. */
export interface StateCall<TTxContext> {
  /** Run inside this open transaction. Without it the call is a transaction of its own. */
  readonly ctx?: TTxContext | undefined;
  /** Replaces the store's clock, for tests and simulations. */
  readonly now?: number | undefined;
}

/** A call that only reads, and that a store may answer from a copy of its data. */
export interface StateRead<TTxContext> extends StateCall<TTxContext> {
  /** An answer that was right some moments ago will do. It makes no difference inside a transaction. */
  readonly mayLag?: boolean | undefined;
}

/** A call that only makes sense inside a transaction. */
export interface StateCallInTransaction<TTxContext> extends StateCall<TTxContext> {
  readonly ctx: TTxContext;
}

/** Options of `runInTransaction`. */
export interface TransactionOptions {
  /**
   * How the transaction is isolated from others. Without it the store's usual level applies: `read committed` in
   * PostgreSQL, whatever the default of the role; SQLite and the in-process store know only `serializable`.
   */
  readonly isolationLevel?: IsolationLevel | undefined;
  /**
   * The callback uses the context for a call of the store first. A store may then begin the transaction in the same round trip.
   */
  readonly beginsWithCall?: boolean | undefined;
}

/** How the store runs transactions. */
export interface Transactions<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> {
  /**
   * Lends a context for the user's own statements, outside the transactions of `runInTransaction`: no call of the store takes
   * it. SQLite runs the callback in a short transaction of its own.
   */
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
   * Whether the store has rolled back because of a conflict with another transaction: a deadlock, a serialisation failure.
   * Nothing was committed. Core repeats the call or the transaction; an adapter does not. Never true of a lost connection.
   */
  isConflictRollback(error: unknown): boolean;
}
