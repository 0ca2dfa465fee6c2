import {
  AdapterClosedError,
  type BaseStateAdapterContext,
  givenUpBy,
  type IsolationLevel,
  repeatAfterConflict,
  type StateCall,
  type StateCallInTransaction,
  type StateJob,
  StateNotInTransactionError,
  systemBackoff,
  type TransactionOptions,
} from "leasehold/adapter";
import { createHash } from "node:crypto";
import { explainPreparedStatements, hasSqlState, isConflictRollback } from "./errors.ts";
import type { PgStateProvider, SqlRow, SqlStatement } from "./provider.ts";
import type { Tables } from "./tables.ts";
import { findClient } from "./transactions.ts";

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
  // The clients of transactions at READ COMMITTED. The level of other transactions has to be read.
  const readCommitted = new WeakSet<object>();
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

  const begin = <T>(
    callback: (ctx: TTxContext) => Promise<T>,
    isolationLevel: IsolationLevel,
    beginsWithCall = false,
  ): Promise<T> =>
    provider.setsIsolationLevel === true
      ? provider.runInTransaction(callback, { isolationLevel, beginsWithCall })
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
    { isolationLevel = usual, beginsWithCall }: TransactionOptions = {},
  ): Promise<T> => {
    if (isolationLevel !== usual) return begin(callback, isolationLevel, beginsWithCall);
    return begin((ctx) => atReadCommitted(ctx, callback), usual, beginsWithCall);
  };

  const atReadCommitted = async <T>(
    ctx: TTxContext,
    callback: (ctx: TTxContext) => Promise<T>,
  ): Promise<T> => {
    const client = findClient(ctx) ?? ctx;
    readCommitted.add(client);
    try {
      return await callback(ctx);
    } finally {
      readCommitted.delete(client);
    }
  };

  const runInSavepoint = <T>(callback: (ctx: TTxContext) => Promise<T>, parent: TTxContext): Promise<T> => {
    const isKnown = readCommitted.has(findClient(parent) ?? parent);
    return provider.runInSavepoint!(
      (ctx) => (isKnown ? atReadCommitted(ctx, callback) : callback(ctx)),
      parent,
    );
  };

  /** All statements in a transaction pass here. */
  const executeIn = (ctx: TTxContext | TContext, statement: SqlStatement): Promise<readonly SqlRow[]> => {
    const error = givenUpBy(ctx);
    return error === undefined
      ? provider.executeSql(ctx, statement).catch(explainPreparedStatements)
      : Promise.reject(error);
  };

  const explainAlone = (error: unknown): never => {
    if (hasSqlState(error, serialisationFailure)) defaultLevel = "unknown";
    return explainPreparedStatements(error);
  };

  const executeAlone = async (statement: SqlStatement) => {
    if (statement.alone !== true && (defaultLevel ?? (await findDefaultLevel())) !== usual) {
      return begin((ctx) => executeIn(ctx, statement), usual);
    }
    return provider.executeSql(undefined, statement).catch(explainAlone);
  };

  return {
    provideContext: (callback) => provider.provideContext(callback),
    runInTransaction,
    ...(provider.runInSavepoint && { runInSavepoint }),
    isInTransaction: (ctx) => provider.isInTransaction(ctx),
    ...(provider.executeLast && {
      executeLast: (ctx: TTxContext, statement: SqlStatement) => {
        const error = givenUpBy(ctx);
        return error === undefined
          ? provider.executeLast!(ctx, statement).catch(explainPreparedStatements)
          : Promise.reject(error);
      },
    }),
    executeSql: (ctx, statement) => (ctx === undefined ? executeAlone(statement) : executeIn(ctx, statement)),
    contextKeys: provider.contextKeys,
    hasSingleConnection: provider.hasSingleConnection === true,
    seesLatest: async (ctx) => {
      if (readCommitted.has(findClient(ctx) ?? ctx) || provider.hasSingleConnection === true) return true;
      const sql = "SELECT current_setting('transaction_isolation') AS level";
      const [row] = await executeIn(ctx, { sql, params: [] });
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
  /**
   * Reads the rules. If the transaction has changed them, returns a copy for this call only: what it has written must not
   * outlive its rollback.
   */
  load(ctx?: Context): Promise<LimitsCache>;
  /** Whether the claim with this token counted some of its jobs against limits. */
  countedBy(leaseToken: string): boolean;
  rememberCounted(leaseToken: string): void;
}

/**
 * The jobs that a transaction has locked and whose completion changes no other row. This cannot change before the end of the
 * transaction, unless the transaction itself changes it.
 */
export interface PlainLocks {
  set(ctx: Context, jobIds: readonly string[]): void;
  /** Forgets those of the transaction, which may have changed them. */
  delete(ctx: unknown): void;
  hasAll(ctx: Context, jobIds: readonly string[]): boolean;
}

const createPlainLocks = (): PlainLocks => {
  const byClient = new WeakMap<object, ReadonlySet<string>>();
  const keyOf = (ctx: unknown): object => findClient(ctx) ?? (ctx as object);
  return {
    set: (ctx, jobIds) => void byClient.set(keyOf(ctx), new Set(jobIds)),
    delete: (ctx) => void byClient.delete(keyOf(ctx)),
    hasAll: (ctx, jobIds) => {
      const plain = byClient.get(keyOf(ctx));
      return plain !== undefined && jobIds.every((id) => plain.has(id));
    },
  };
};

/** A queue and type, whose jobs form one range of the claim index. */
export interface ClaimRange {
  readonly number: string;
  readonly queue: string;
  readonly typeName: string;
  /** The number of its request. */
  readonly request: number;
}

/** Where the next claims from some ranges begin to read. */
export interface ClaimCursor {
  /** The time of the store at the last claim from the beginning. */
  readonly since: number;
  /** The priority and the due time of the last claimed job, by the number of the range. */
  readonly places: Map<string, { readonly priority: number; readonly dueAt: number }>;
  /** By the clock of the process. */
  readonly expiresAt: number;
}

/** The cursors of a process: one for each list of ranges that its workers claim from. */
export interface ClaimCursors {
  find(ranges: readonly ClaimRange[]): ClaimCursor | undefined;
  /** Called after a claim from the beginning that claimed as many jobs as it asked for. */
  begin(ranges: readonly ClaimRange[], jobs: readonly StateJob[], tookMs: number): void;
  /** Called after a claim from the cursor. */
  advance(cursor: ClaimCursor, ranges: readonly ClaimRange[], jobs: readonly StateJob[]): void;
  /** Called when a job was put back that may come before a cursor. */
  forgetAll(): void;
}

/** The store as the operations use it. */
export interface Database {
  readonly tables: Tables;
  readonly limits: LimitsCache;
  /** Whether a text is a valid id. An invalid one is not found. */
  isId(value: string): boolean;
  /** Runs a statement in the transaction, or, without one, as a transaction of its own. */
  query(ctx: Context | undefined, statement: Statement): Promise<readonly SqlRow[]>;
  /** Runs the last statement of a transaction and commits it in the same round trip. Undefined if the provider cannot. */
  readonly queryLast: ((ctx: Context, statement: Statement) => Promise<readonly SqlRow[]>) | undefined;
  /** The locked jobs of transactions that `queryLast` may complete. */
  readonly plainLocks: PlainLocks;
  readonly cursors: ClaimCursors;
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
  readonly createCursors: () => ClaimCursors;
  readonly isClosed: () => boolean;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const integerPattern = /^(0|[1-9][0-9]{0,17})$/;

const idChecks: Record<string, (value: string) => boolean> = {
  uuid: (value) => uuidPattern.test(value),
  bigint: (value) => integerPattern.test(value),
};

export const createDatabase = (options: DatabaseOptions): Database => {
  const { provider, tables, createLimits, createCursors, isClosed } = options;
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
    isId: idChecks[tables.idType] ?? ((value) => value !== "" && !value.includes("\0")),
    query,
    queryLast: provider.executeLast && ((ctx, asked) => provider.executeLast!(ctx, write(asked))),
    plainLocks: createPlainLocks(),
    cursors: createCursors(),
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
