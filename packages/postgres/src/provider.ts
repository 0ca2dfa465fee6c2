import type { BaseStateAdapterContext, TransactionOptions } from "leasehold/adapter";

/** A row as the driver returns it: columns by name. */
export type SqlRow = Readonly<Record<string, unknown>>;

export interface SqlStatement {
  readonly sql: string;
  /** Texts, numbers, booleans and nulls only: every driver passes these on as they are. Numbered `$1`, `$2`, … */
  readonly params: readonly (string | number | boolean | null)[];
  /**
   * Set for statements that are made again and again with the same text: a driver that can keep statements prepared
   * under a name should do so.
   */
  readonly name?: string | undefined;
  /** For the adapter itself: a statement that PostgreSQL refuses in a transaction. It then comes without a context. */
  readonly alone?: boolean | undefined;
}

/**
 * How the adapter reaches PostgreSQL: through your own client, so that your writes and your jobs can share a
 * transaction. Ready-made for `pg` and `postgres`; for anything else these few functions are all it takes.
 */
export interface PgStateProvider<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> {
  /** Lends a client outside any transaction. */
  provideContext<T>(callback: (ctx: TContext) => Promise<T>): Promise<T>;

  /**
   * Commits when the callback resolves, rolls back when it rejects, and passes the rejection on. Must reject when the
   * commit turns into a rollback because a statement had failed and the callback went on regardless.
   *
   * The adapter always names a level; see `setsIsolationLevel`.
   */
  runInTransaction<T>(callback: (ctx: TTxContext) => Promise<T>, options?: TransactionOptions): Promise<T>;

  /**
   * True if `runInTransaction` begins its transactions with the level it is given. Otherwise the adapter sets the level
   * with a statement of its own, wherever it is not the default of the connection anyway.
   */
  readonly setsIsolationLevel?: boolean;

  /** True if there is one connection for everything, so that nothing else can happen while a transaction is open. */
  readonly hasSingleConnection?: boolean;

  /**
   * Runs the callback in a savepoint of the transaction. Only for clients that insist on setting savepoints themselves;
   * otherwise the adapter does it with `executeSql`.
   */
  runInSavepoint?<T>(callback: (ctx: TTxContext) => Promise<T>, parent: TTxContext): Promise<T>;

  /** Whether `ctx` is one of this provider's contexts, in an open transaction. False for anything else; never throws. */
  isInTransaction(ctx: unknown): Promise<boolean>;

  /** Runs one statement, whose columns are never of type `void`: with the context's connection, or without a context on any one, as a transaction of its own. */
  executeSql(ctx: TTxContext | TContext | undefined, statement: SqlStatement): Promise<readonly SqlRow[]>;
}
