/**
 * The calls under way in each transaction.
 *
 * A transaction can fail while one of its calls is under way: the call exceeded its deadline, or was one of several at once.
 * A call may consist of several statements. If the connection went back to its pool, those still to come would run there,
 * outside the transaction or in that of somebody else. So the transaction waits for its calls before it is rolled back.
 */
export interface OpenCalls {
  /** Counts a call with this context until it has ended. */
  track<T>(ctx: unknown, call: () => Promise<T>): Promise<T>;
  /** Does the work of a transaction. If that fails, waits for the calls that are still under way. */
  outlive<T>(ctx: object, work: () => Promise<T>): Promise<T>;
}

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
        if (calls !== undefined) await Promise.allSettled(calls);
        throw error;
      }
    },
  };
};
