import {
  type BaseStateAdapterContext,
  type OptionNames,
  requireOptions,
  type TransactionOptions,
} from "leasehold/adapter";

/** The given options. Throws on unknown names; the values are not checked. */
export const readKnownOptions = <TOptions extends object>(
  passed: TOptions,
  functionName: string,
  known: OptionNames<keyof TOptions & string>,
): TOptions => requireOptions(passed, functionName, known) as TOptions;

/** A row as the driver returns it: columns by name. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** A statement with its parameters. */
export interface SqlStatement {
  readonly sql: string;
  /** Texts, numbers, booleans and nulls only: every driver passes these on as they are. Numbered `$1`, `$2`, … */
  readonly params: readonly (string | number | boolean | null)[];
  /** Set for statements that run often with the same text. A driver that can should prepare them under this name. */
  readonly name?: string | undefined;
  /** Set by the adapter: PostgreSQL refuses this statement in a transaction. It has no context. */
  readonly alone?: boolean | undefined;
}

/**
 * How the adapter reaches PostgreSQL: through your own client, so that your writes and your jobs can share a
 * transaction. There are providers for several clients; for another one, implement these functions.
 */
export interface PgStateProvider<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> {
  /** Lends a client outside any transaction. */
  provideContext<T>(callback: (ctx: TContext) => Promise<T>): Promise<T>;

  /**
   * Commits when the callback resolves. Rolls back when it rejects, and rejects with the same error. Must also reject when
   * the commit becomes a rollback, because a statement failed and the callback ignored that.
   *
   * The adapter always names a level; see `setsIsolationLevel`.
   */
  runInTransaction<T>(callback: (ctx: TTxContext) => Promise<T>, options?: TransactionOptions): Promise<T>;

  /**
   * True if `runInTransaction` begins its transactions with the level that it is given. Otherwise the adapter sets the level
   * with a statement, where it is not the default of the connection.
   */
  readonly setsIsolationLevel?: boolean;

  /** The names of the properties of a context. Every other name in a call is an option, or a misspelt one. */
  readonly contextKeys: readonly string[];

  /** True if there is only one connection, so that nothing else can happen while a transaction is open. */
  readonly hasSingleConnection?: boolean;

  /**
   * Runs the callback in a savepoint of the transaction. Only for clients that must set savepoints on their own. Default: the
   * adapter sets them with `executeSql`.
   */
  runInSavepoint?<T>(callback: (ctx: TTxContext) => Promise<T>, parent: TTxContext): Promise<T>;

  /** Whether `ctx` is one of this provider's contexts, in an open transaction. False for anything else; never throws. */
  isInTransaction(ctx: unknown): Promise<boolean>;

  /**
   * Runs one statement on the connection of the context. Without a context it runs on any connection, as a transaction of
   * its own. Its columns are never of type `void`.
   */
  executeSql(ctx: TTxContext | TContext | undefined, statement: SqlStatement): Promise<readonly SqlRow[]>;

  /**
   * Runs the last statement of a transaction of `runInTransaction`, and commits it in the same round trip. If the statement
   * fails, nothing is committed. Default: `runInTransaction` commits.
   */
  executeLast?(ctx: TTxContext, statement: SqlStatement): Promise<readonly SqlRow[]>;
}

/** What a function passes to the callback that is its first parameter; of overloads, the last one counts. */
export type CallbackArgument<TFunction> = TFunction extends (
  callback: infer TCallback,
  ...rest: never[]
) => unknown
  ? TCallback extends (argument: infer TArgument, ...rest: never[]) => unknown
    ? TArgument
    : never
  : never;
