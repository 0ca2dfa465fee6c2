import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../base/runtime.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { createDeferred } from "../base/async.ts";
import { type AnyMethod, wrapAdapter } from "../store/wrap-adapter.ts";

/** Knows what the store has been asked and has not answered. */
export interface CallWatch {
  watch<T>(call: Promise<T>): Promise<T>;
  /** Callbacks of transactions that are running. A store with one connection answers nobody else meanwhile. */
  openTransactions: number;
  /** Resolves when nothing is under way, and nothing has been for a while. */
  settled(): Promise<void>;
}

// A call may wait for a transaction whose owner waits for the clock: then time has to pass all the same.
const longestWaitMs = 200;

export const createCallWatch = (quietMs: number): CallWatch => {
  const underWay = new Set<Promise<unknown>>();
  let made = 0;

  const answered = async (): Promise<void> => {
    const patience = new AbortController();
    const giveUp = sleep(longestWaitMs, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([Promise.allSettled(underWay), giveUp]);
    patience.abort();
  };

  return {
    openTransactions: 0,
    watch: async (call) => {
      made += 1;
      underWay.add(call);
      try {
        return await call;
      } finally {
        underWay.delete(call);
      }
    },
    settled: async () => {
      if (underWay.size > 0) await answered();
      if (quietMs === 0) return;
      for (let before = -1; before !== made;) {
        before = made;
        await sleep(quietMs);
      }
    },
  };
};

const notStoreCalls = new Set(["isTransientError", "isConflictRollback", "provideContext", "close"]);

/** The same store, for which the clock's time is the present, and whose answers the clock waits for. */
export const onClock = <TStateAdapter extends AnyStateAdapter>(
  adapter: TStateAdapter,
  clock: Clock,
  calls: CallWatch,
): TStateAdapter => {
  /** A transaction's callback may wait for the clock, so only its beginning and its end are watched. */
  const runInTransaction =
    (original: AnyMethod): AnyMethod =>
    (callback, ...rest) => {
      let step = createDeferred<void>();
      void calls.watch(step.promise);
      const run = async (ctx: unknown): Promise<unknown> => {
        step.resolve();
        calls.openTransactions += 1;
        try {
          return await (callback as (ctx: unknown) => Promise<unknown>)(ctx);
        } finally {
          calls.openTransactions -= 1;
          step = createDeferred<void>();
          void calls.watch(step.promise);
        }
      };
      return (original(run, ...rest) as Promise<unknown>).finally(() => step.resolve());
    };

  return wrapAdapter(adapter, (method, original) => {
    if (notStoreCalls.has(method)) return original;
    if (method === "runInTransaction") return runInTransaction(original);
    if (method === "isInTransaction") return (ctx) => calls.watch(original(ctx) as Promise<unknown>);
    return (call) =>
      calls.watch(original({ now: clock.now(), ...(call as object | undefined) }) as Promise<unknown>);
  });
};
