import {
  AdapterClosedError,
  type BaseStateAdapterContext,
  type IsolationLevel,
  repeatAfterConflict,
  type StateCall,
  type StateCallInTransaction,
  StateNotInTransactionError,
  StoreCallTimeoutError,
  systemBackoff,
  type TransactionOptions,
  withDeadline,
} from "leasehold/adapter";
import { createHash } from "node:crypto";
import { hasSqlState, isConflictRollback } from "./errors.ts";
import type { PgStateProvider, SqlRow, SqlStatement } from "./provider.ts";
import type { Tables } from "./tables.ts";

const usual: IsolationLevel = "read committed";

const serialisationFailure = "40001";

export interface IsolatedProvider<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> extends PgStateProvider<TTxContext, TContext> {
  /** Whether the transaction takes a new snapshot for each statement, as READ COMMITTED does. */
  seesLatest(ctx: TTxContext): Promise<boolean>;
}

/** Whether the value of `transaction_isolation` is READ COMMITTED, or READ UNCOMMITTED, which is the same. */
export const isReadCommitted = (level: unknown): boolean =>
  level === "read committed" || level === "read uncommitted";

/**
 * The same provider, with READ COMMITTED as the default level.
 *
 * The statements are written for READ COMMITTED, where a statement that waited for a row continues with its latest version. At
 * stricter levels PostgreSQL refuses it instead, and under load would refuse many statements without need. The default level
 * of the role or the database is not changed, but read once. If it is READ COMMITTED, as nearly everywhere, a single statement
 * needs no transaction.
 */
export const createIsolatedProvider = <
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
>(
  provider: PgStateProvider<TTxContext, TContext>,
): IsolatedProvider<TTxContext, TContext> => {
  // Transactions at READ COMMITTED. The level of other transactions has to be read.
  const readCommitted = new WeakSet<TTxContext>();
  let defaultLevel: string | undefined;

  const findDefaultLevel = async (): Promise<string> => {
    if (defaultLevel === undefined) {
      const sql = "SELECT current_setting('default_transaction_isolation') AS level";
      const [row] = await provider.executeSql(undefined, { sql, params: [] });
      defaultLevel ??= String(row?.["level"]);
    }
    return defaultLevel;
  };

  /** READ COMMITTED has no such errors: the default was changed since, or is not the same for all connections. */
  const doubtDefaultLevel = (error: unknown): never => {
    if (hasSqlState(error, serialisationFailure)) defaultLevel = "unknown";
    throw error;
  };

  const begin = <T>(callback: (ctx: TTxContext) => Promise<T>, isolationLevel: IsolationLevel): Promise<T> =>
    provider.setsIsolationLevel === true
      ? provider.runInTransaction(callback, { isolationLevel })
      : beginAndSetLevel(callback, isolationLevel);

  const beginAndSetLevel = async <T>(
    callback: (ctx: TTxContext) => Promise<T>,
    isolationLevel: IsolationLevel,
  ): Promise<T> => {
    if ((defaultLevel ?? (await findDefaultLevel())) === isolationLevel) {
      return provider
        .runInTransaction(callback)
        .catch(isolationLevel === usual ? doubtDefaultLevel : undefined);
    }
    return provider.runInTransaction(async (ctx) => {
      const sql = `SET TRANSACTION ISOLATION LEVEL ${isolationLevel}`;
      await provider.executeSql(ctx, { sql, params: [] });
      return callback(ctx);
    });
  };

  const runInTransaction = <T>(
    callback: (ctx: TTxContext) => Promise<T>,
    { isolationLevel = usual }: TransactionOptions = {},
  ): Promise<T> => {
    if (isolationLevel !== usual) return begin(callback, isolationLevel);
    return begin((ctx) => {
      readCommitted.add(ctx);
      return callback(ctx);
    }, usual);
  };

  const runInSavepoint = <T>(callback: (ctx: TTxContext) => Promise<T>, parent: TTxContext): Promise<T> =>
    provider.runInSavepoint!((ctx) => {
      if (readCommitted.has(parent)) readCommitted.add(ctx);
      return callback(ctx);
    }, parent);

  const executeAlone = async (statement: SqlStatement) => {
    if (statement.alone !== true && (defaultLevel ?? (await findDefaultLevel())) !== usual) {
      return begin((ctx) => provider.executeSql(ctx, statement), usual);
    }
    return provider.executeSql(undefined, statement).catch(doubtDefaultLevel);
  };

  return {
    provideContext: (callback) => provider.provideContext(callback),
    runInTransaction,
    ...(provider.runInSavepoint && { runInSavepoint }),
    isInTransaction: (ctx) => provider.isInTransaction(ctx),
    executeSql: (ctx, statement) =>
      ctx === undefined ? executeAlone(statement) : provider.executeSql(ctx, statement),
    hasSingleConnection: provider.hasSingleConnection === true,
    seesLatest: async (ctx) => {
      if (readCommitted.has(ctx) || provider.hasSingleConnection === true) return true;
      const sql = "SELECT current_setting('transaction_isolation') AS level";
      const [row] = await provider.executeSql(ctx, { sql, params: [] });
      return isReadCommitted(row?.["level"]);
    },
  };
};

/** A transaction of the provider, opaque to the adapter. */
export type Context = BaseStateAdapterContext;

export type Call = StateCall<Context>;

export type CallInTransaction = StateCallInTransaction<Context>;

/** A statement of the adapter. The text of a named one is made once, and the server keeps it prepared. */
export type Statement =
  | { readonly name?: undefined; readonly sql: string; readonly params: SqlStatement["params"] }
  | {
      readonly name: string;
      readonly sql: (tables: Tables) => string;
      readonly params: SqlStatement["params"];
    };

/** What a process has read about the limits of one queue. */
export interface QueueLimits {
  /** Rules or groups apply to jobs of this queue, so that claims have to use `limit_claim`. */
  readonly isLimited: boolean;
  /** The types that have a row in the table of rules, and whether they have groups. */
  readonly types: ReadonlyMap<string, boolean>;
}

/**
 * The copy of the rules that this process has. Statements that depend on it compare its epoch with that of the store. A new
 * store has epoch 0 and no rules, and so has a new copy: it is loaded only after a comparison has failed.
 */
export interface LimitsCache {
  readonly epoch: number;
  /** Some type of the store has groups. */
  readonly hasGroups: boolean;
  queue(queue: string): QueueLimits | undefined;
  load(ctx?: Context): Promise<void>;
  /** Whether the claim with this token counted some of its jobs against limits. */
  countedBy(leaseToken: string): boolean;
  rememberCounted(leaseToken: string): void;
}

/** The store as the operations use it. */
export interface Database {
  readonly tables: Tables;
  readonly limits: LimitsCache;
  /** There is only one connection, so that no other statement runs while a transaction is open. */
  readonly hasSingleConnection: boolean;
  /** Whether a text is a valid id. An invalid one is not found. */
  isId(value: string): boolean;
  /** Runs a statement in the transaction, or, without one, as a transaction of its own. */
  query(ctx: Context | undefined, statement: Statement): Promise<readonly SqlRow[]>;
  /** Runs several statements as one: in the transaction given, or in one of their own. */
  atomically<T>(ctx: Context | undefined, work: (ctx: Context) => Promise<T>): Promise<T>;
  /** Throws when the adapter has been closed. */
  assertOpen(): void;
  /** Whether the transaction takes a new snapshot for each statement, as READ COMMITTED does. */
  seesLatest(ctx: Context): Promise<boolean>;
  /** Throws unless `ctx` is in an open transaction. */
  assertInTransaction(operation: string, ctx: unknown): Promise<void>;
}

export interface DatabaseOptions {
  // oxlint-disable-next-line typescript/no-explicit-any -- contexts are opaque to the operations
  readonly provider: IsolatedProvider<any, any>;
  readonly tables: Tables;
  readonly createLimits: (tables: Tables, query: Database["query"]) => LimitsCache;
  readonly isClosed: () => boolean;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const integerPattern = /^(0|[1-9][0-9]{0,17})$/;

const idChecks: Record<string, (value: string) => boolean> = {
  uuid: (value) => uuidPattern.test(value),
  bigint: (value) => integerPattern.test(value),
};

export const createDatabase = ({ provider, tables, createLimits, isClosed }: DatabaseOptions): Database => {
  const assertOpen = (): void => {
    if (isClosed()) throw new AdapterClosedError("PostgreSQL state adapter");
  };

  const written = new Map<string, { readonly sql: string; readonly name: string }>();

  const write = ({ name, sql, params }: Statement): SqlStatement => {
    if (name === undefined) return { sql, params };
    let known = written.get(name);
    if (known === undefined) {
      const text = sql(tables);
      // The name depends on the text, because adapters with different tables may share a connection.
      const digest = createHash("sha1").update(text).digest("hex").slice(0, 12);
      known = { sql: text, name: `leasehold_${digest}` };
      written.set(name, known);
    }
    return { ...known, params };
  };

  // Every statement passes here: an async function around a promise would add three to each.
  const query: Database["query"] = (ctx, asked) => provider.executeSql(ctx, write(asked));

  return {
    tables,
    limits: createLimits(tables, query),
    hasSingleConnection: provider.hasSingleConnection === true,
    isId: idChecks[tables.idType] ?? ((value) => !value.includes("\0")),
    query,
    atomically: (ctx, work) => (ctx === undefined ? provider.runInTransaction(work) : work(ctx)),
    seesLatest: (ctx) => provider.seesLatest(ctx),
    assertOpen,
    assertInTransaction: async (operation, ctx) => {
      assertOpen();
      if (!(await provider.isInTransaction(ctx))) throw new StateNotInTransactionError(operation);
    },
  };
};

/**
 * Repeats one transaction of a call after a conflict rollback. Core repeats whole calls; this is for a call that has already
 * committed another transaction, whose answer would be lost.
 */
export const repeatAlone = <T>(ctx: Context | undefined, transaction: () => Promise<T>): Promise<T> =>
  ctx === undefined ? repeatAfterConflict(systemBackoff, isConflictRollback, transaction) : transaction();

/**
 * The running calls of each transaction.
 *
 * A transaction can fail while one of its calls is running: the call exceeded its deadline, or another call failed. A call may
 * have several statements. If the connection returned to its pool, the remaining ones would run outside the transaction, or in
 * another one. So the transaction waits for its calls before it is rolled back, for a limited time, because it keeps its locks
 * until then.
 */
export interface OpenCalls {
  /** Counts a call with this context until it has ended. */
  track<T>(ctx: unknown, call: () => Promise<T>): Promise<T>;
  /** Does the work of a transaction. If that fails, waits for its running calls. */
  outlive<T>(ctx: object, work: () => Promise<T>): Promise<T>;
}

const longestWaitMs = 2_000;

/** Core copies a context when it adds options to it. The client in it stays the same. */
const findClient = (ctx: unknown): object | undefined => {
  try {
    const isClient = (value: unknown): value is object =>
      typeof value === "function" || (typeof value === "object" && value !== null);
    return Object.values(ctx as object).find(isClient);
  } catch {
    return undefined;
  }
};

const waitFor = async (calls: Iterable<Promise<unknown>>): Promise<void> => {
  const tooLong = () => new StoreCallTimeoutError("rollback", longestWaitMs);
  await withDeadline(Promise.allSettled(calls), longestWaitMs, tooLong).catch(() => {});
};

export const createOpenCalls = (): OpenCalls => {
  const open = new WeakMap<object, Set<Promise<unknown>>>();

  return {
    track: async (ctx, call) => {
      const client = findClient(ctx);
      if (client === undefined) return call();
      const calls = open.get(client) ?? new Set();
      open.set(client, calls);
      const underWay = call();
      calls.add(underWay);
      try {
        return await underWay;
      } finally {
        calls.delete(underWay);
      }
    },
    outlive: async (ctx, work) => {
      try {
        return await work();
      } catch (error) {
        const calls = open.get(findClient(ctx) ?? ctx);
        if (calls !== undefined && calls.size > 0) await waitFor(calls);
        throw error;
      }
    },
  };
};

/** Nested transactions: if one fails, only its changes are rolled back. */
export const createSavepoints = <
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
>(
  provider: PgStateProvider<TTxContext, TContext>,
): (<T>(callback: (ctx: TTxContext) => Promise<T>, parent: TTxContext) => Promise<T>) => {
  let count = 0;
  return async (callback, parent) => {
    if (provider.runInSavepoint) return provider.runInSavepoint(callback, parent);
    count += 1;
    const name = `leasehold_${count}`;
    const execute = (sql: string): Promise<unknown> => provider.executeSql(parent, { sql, params: [] });
    await execute(`SAVEPOINT ${name}`);
    try {
      const result = await callback(parent);
      await execute(`RELEASE SAVEPOINT ${name}`);
      return result;
    } catch (error) {
      // If this fails as well, the whole transaction is lost. Throw the first error.
      await execute(`ROLLBACK TO SAVEPOINT ${name}`).catch(() => {});
      throw error;
    }
  };
};

/**
 * With statistics from before a million jobs finished, the planner joins or sorts the whole table for a page of a thousand jobs.
 * For statements that have an index, these settings leave it only that, until the transaction ends.
 */
const indexesOnly = [
  ["enable_indexscan", "on"],
  ["enable_nestloop", "on"],
  ...["seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin"].map((kind) => [`enable_${kind}`, "off"]),
  ["jit", "off"],
]
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(", ");

/** Runs the work in a transaction that reads by index only. A transaction of the caller keeps the caller's settings. */
export const byIndexOnly = <T>(
  database: Database,
  given: Context | undefined,
  work: (ctx: Context) => Promise<T>,
): Promise<T> =>
  database.atomically(given, async (ctx) => {
    // In a transaction of the caller the settings would outlive the call.
    if (given === undefined) await database.query(ctx, { sql: `SELECT ${indexesOnly}`, params: [] });
    return work(ctx);
  });
