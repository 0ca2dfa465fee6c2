import type { Clock } from "../../base/runtime.ts";
import type { AnyStateAdapter } from "../../store/contract/state-adapter.ts";
import { type AnyMethod, wrapAdapter } from "../../store/wrap-adapter.ts";

/** A process that can be killed between any two of its store calls. Its share of the store and of time dies with it. */
export interface MortalProcess {
  readonly alive: boolean;
  readonly died: Promise<void>;
  kill(): void;
  /** The clock as the process sees it: once it is dead, none of its timers fires. */
  readonly clock: Clock;
  /** The store as the process sees it. `onCall` is told of every call and answers when the process dies of it. */
  connect(
    adapter: AnyStateAdapter,
    onCall: (method: string) => "before" | "after" | undefined,
  ): AnyStateAdapter;
}

// No part of the store's work: asked without a connection.
const notCalls = new Set(["isInTransaction", "isTransientError", "isConflictRollback"]);

const never = (): Promise<never> => new Promise(() => undefined);

export const createMortalProcess = (clock: Clock): MortalProcess => {
  let alive = true;
  let announceDeath = (): void => {};
  const died = new Promise<void>((resolve) => {
    announceDeath = resolve;
  });
  const kill = (): void => {
    alive = false;
    announceDeath();
  };
  const unlessDead = (callback: () => void) => () => {
    if (alive) callback();
  };

  /** Replies of the store after the death of the process are dropped. */
  const whileAlive = <T>(answer: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      answer.then(
        (value) => {
          if (alive) resolve(value);
        },
        (error: unknown) => {
          if (alive) reject(error);
        },
      );
    });

  /** A store that loses the connection rolls the open transaction back. */
  const endedByDeath =
    (callback: (ctx: object) => Promise<unknown>) =>
    (ctx: object): Promise<unknown> =>
      Promise.race([
        callback(ctx),
        died.then(() => {
          throw new Error("The connection is gone.");
        }),
      ]);

  return {
    get alive() {
      return alive;
    },
    died,
    kill,
    clock: {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      setTimer: (callback, delayMs) => clock.setTimer(unlessDead(callback), delayMs),
      soon: (callback) => clock.soon(unlessDead(callback)),
    },
    connect: (adapter, onCall) =>
      wrapAdapter(adapter, (method, original): AnyMethod => {
        if (notCalls.has(method)) return original;
        return (...args) => {
          if (!alive) return never();
          const death = onCall(method);
          if (death === "before") {
            kill();
            return never();
          }
          if (method === "runInTransaction") args[0] = endedByDeath(args[0] as never);
          const call = async (): Promise<unknown> => {
            try {
              return await original(...args);
            } finally {
              if (death === "after") kill();
            }
          };
          return whileAlive(call());
        };
      }),
  };
};
