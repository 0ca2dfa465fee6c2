import {
  type BaseStateAdapterContext,
  type CallInProgress,
  callOf,
  givenUpBy,
  StoreCallTimeoutError,
  withDeadline,
} from "leasehold/adapter";
import type { PgStateProvider } from "./provider.ts";

const isClient = (value: unknown): value is object =>
  typeof value === "function" || (typeof value === "object" && value !== null);

/** Core copies a context when it adds options to it. The client in it stays the same. */
export const findClient = (ctx: unknown): object | undefined => {
  try {
    // Several times for each call in a transaction, so without an array.
    for (const name in ctx as object) {
      const value: unknown = (ctx as Record<string, unknown>)[name];
      if (isClient(value)) return value;
    }
  } catch {
    // A getter threw: not a context.
  }
  return undefined;
};

/**
 * The running calls of each transaction.
 *
 * A transaction can fail while one of its calls is running: the call exceeded its deadline, or another call failed. A call may
 * have several statements. After the end of the transaction, the remaining ones would run outside of it, or in another one. So
 * the transaction waits for its calls before it is rolled back, for a limited time, because it keeps its locks until then. After
 * that they send nothing more.
 */
export interface OpenCalls {
  /** Counts a call with this context until it has ended. If it exceeds its deadline, all calls of the transaction end. */
  track<T>(ctx: unknown, call: () => Promise<T>): Promise<T>;
  /** Does the work of a transaction. If that fails, waits for its running calls. */
  outlive<T>(ctx: object, work: () => Promise<T>): Promise<T>;
}

const longestWaitMs = 2_000;

const waitFor = async (calls: Iterable<Promise<unknown>>): Promise<void> => {
  const tooLong = () => new StoreCallTimeoutError("rollback", longestWaitMs);
  await withDeadline(Promise.allSettled(calls), longestWaitMs, tooLong).catch(() => {});
};

export const createOpenCalls = (): OpenCalls => {
  /** By client: the running calls, and how to end each. */
  const open = new WeakMap<object, Map<Promise<unknown>, CallInProgress | undefined>>();

  const endAll = (client: object, error: Error): void => {
    for (const call of open.get(client)?.values() ?? []) if (call !== undefined) call.givenUpBy ??= error;
  };

  return {
    track: async (ctx, call) => {
      const client = findClient(ctx);
      if (client === undefined) return call();
      const calls = open.get(client) ?? new Map<Promise<unknown>, CallInProgress | undefined>();
      open.set(client, calls);
      const progress = callOf(ctx as object);
      if (progress !== undefined) progress.onGiveUp = (error) => endAll(client, error);
      const underWay = call();
      calls.set(underWay, progress);
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
        const client = findClient(ctx) ?? ctx;
        const running = [...(open.get(client) ?? [])].filter(([, call]) => call?.givenUpBy === undefined);
        if (running.length > 0) await waitFor(running.map(([underWay]) => underWay));
        endAll(client, new StoreCallTimeoutError("rollback", longestWaitMs));
        throw error;
      }
    },
  };
};

/** Does not settle for a client that would then send the end of the savepoint, after the end of the transaction. */
const unlessGivenUp =
  <TTxContext extends BaseStateAdapterContext, T>(
    callback: (ctx: TTxContext) => Promise<T>,
    parent: TTxContext,
  ) =>
  async (ctx: TTxContext): Promise<T> => {
    try {
      return await callback(ctx);
    } finally {
      if (givenUpBy(parent) !== undefined) await new Promise(() => {});
    }
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
    if (provider.runInSavepoint) return provider.runInSavepoint(unlessGivenUp(callback, parent), parent);
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
