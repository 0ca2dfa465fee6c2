import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { BaseStateAdapterContext, StateCall, StateCallInTransaction } from "leasehold/adapter";
import { AdapterClosedError, StateNotInTransactionError } from "leasehold/adapter";
import { createFlowCache, type FlowCache } from "./flow/flow-cache.ts";
import type { IsolatedProvider } from "./isolation.ts";
import type { SqlRow, SqlStatement } from "./provider.ts";
import type { Tables } from "./tables.ts";
import { isRolledBackForOthers } from "./transient-errors.ts";

/** A transaction of the provider. Nothing here looks into it. */
export type Context = BaseStateAdapterContext;
export type Call = StateCall<Context>;
export type CallInTransaction = StateCallInTransaction<Context>;

/** A statement of the adapter. The text of one that has a name is written once, and the server keeps it prepared. */
export type Statement =
  | { readonly name?: undefined; readonly sql: string; readonly params: SqlStatement["params"] }
  | {
      readonly name: string;
      readonly sql: (tables: Tables) => string;
      readonly params: SqlStatement["params"];
    };

/** What the operations work with. */
export interface Database {
  readonly tables: Tables;
  readonly flow: FlowCache;
  /** There is only one connection, so that nothing else can happen while a transaction is open. */
  readonly hasSingleConnection: boolean;
  /** Whether a text can be an id at all. One that cannot is not found. */
  isId(value: string): boolean;
  /** Runs a statement in the transaction, or, without one, as a transaction of its own. */
  query(ctx: Context | undefined, statement: Statement): Promise<readonly SqlRow[]>;
  /** Runs several statements as one: in the transaction given, or in one of their own. */
  atomically<T>(ctx: Context | undefined, work: (ctx: Context) => Promise<T>): Promise<T>;
  /** Throws when the adapter has been closed. */
  assertOpen(): void;
  /** Whether each statement of the transaction sees everything that was committed before it, as at READ COMMITTED. */
  seesLatest(ctx: Context): Promise<boolean>;
  /** Throws unless `ctx` is in an open transaction. */
  assertInTransaction(operation: string, ctx: unknown): Promise<void>;
}

export interface DatabaseOptions {
  // oxlint-disable-next-line typescript/no-explicit-any -- contexts are opaque to the operations
  readonly provider: IsolatedProvider<any, any>;
  readonly tables: Tables;
  readonly isClosed: () => boolean;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const integerPattern = /^(0|[1-9][0-9]{0,17})$/;

const idChecks: Record<string, (value: string) => boolean> = {
  uuid: (value) => uuidPattern.test(value),
  bigint: (value) => integerPattern.test(value),
};

const mostTries = 10;
const longestPauseMs = 50;

/**
 * After a deadlock or a serialisation failure the server has certainly rolled the transaction back, so it can be run again.
 * What to do about less certain errors is for the caller to decide.
 */
const retryWhenRolledBack = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries >= mostTries || !isRolledBackForOthers(error)) throw error;
      await sleep(Math.random() * Math.min(longestPauseMs, 2 ** tries));
    }
  }
};

export const createDatabase = ({ provider, tables, isClosed }: DatabaseOptions): Database => {
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
  const query: Database["query"] = (ctx, asked) => {
    const statement = write(asked);
    if (ctx !== undefined) return provider.executeSql(ctx, statement);
    return retryWhenRolledBack(() => provider.executeSql(undefined, statement));
  };

  return {
    tables,
    flow: createFlowCache(tables, query),
    hasSingleConnection: provider.hasSingleConnection === true,
    isId: idChecks[tables.idType] ?? ((value) => !value.includes("\0")),
    query,
    atomically: async (ctx, work) => {
      if (ctx !== undefined) return work(ctx);
      return retryWhenRolledBack(() => provider.runInTransaction(work));
    },
    seesLatest: (ctx) => provider.seesLatest(ctx),
    assertOpen,
    assertInTransaction: async (operation, ctx) => {
      assertOpen();
      if (!(await provider.isInTransaction(ctx))) throw new StateNotInTransactionError(operation);
    },
  };
};
