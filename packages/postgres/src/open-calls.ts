import { setTimeout as sleep } from "node:timers/promises";

/**
 * The calls under way in each transaction.
 *
 * A transaction can fail while one of its calls is under way: the call exceeded its deadline, or was one of several at once.
 * A call may consist of several statements. If the connection went back to its pool, those still to come would run there,
 * outside the transaction or in that of somebody else. So the transaction waits for its calls before it is rolled back, but
 * not for ever: until then it keeps its locks.
 */
export interface OpenCalls {
  /** Counts a call with this context until it has ended. */
  track<T>(ctx: unknown, call: () => Promise<T>): Promise<T>;
  /** Does the work of a transaction. If that fails, waits for the calls that are still under way. */
  outlive<T>(ctx: object, work: () => Promise<T>): Promise<T>;
}

const longestWaitMs = 2_000;

/** A context is copied when it is passed on beside options. The client in it stays the same. */
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
  const done = new AbortController();
  const tooLong = sleep(longestWaitMs, undefined, { signal: done.signal }).catch(() => {});
  await Promise.race([Promise.allSettled(calls), tooLong]);
  done.abort();
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
