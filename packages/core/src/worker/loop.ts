import { delayOf } from "../base/backoff.ts";
import type { Clock } from "../base/runtime.ts";
import type { WorkerContext } from "./context.ts";

export interface LoopHealth {
  /** Wall-clock time of the last turn that succeeded; null before the first. */
  readonly lastSuccessAt: number | null;
  /** Turns in a row that have failed. */
  readonly failures: number;
  readonly lastError: unknown;
}

/** A wait that `wake` ends. A wake-up outside a wait ends the next one at once. */
export interface Waiter {
  wait(ms: number): Promise<void>;
  wake(): void;
}

const createWaiter = (clock: Clock): Waiter => {
  let woken = false;
  let endWait: (() => void) | undefined;
  return {
    wait: async (ms) => {
      if (!woken) {
        await new Promise<void>((resolve) => {
          const cancel = clock.setTimer(resolve, ms);
          endWait = () => {
            cancel();
            resolve();
          };
        });
        endWait = undefined;
      }
      woken = false;
    },
    wake: () => {
      woken = true;
      endWait?.();
    },
  };
};

export interface Loop {
  /** Ends after the turn under way. Resolves when the loop has ended. */
  stop(): Promise<void>;
  wake(): void;
  health(): LoopHealth;
}

/**
 * Runs `turn` repeatedly until stopped. `turn` returns the delay before the next turn. An error does not end the loop: it is
 * reported, and the next turn comes after a growing, jittered delay.
 */
export const startLoop = (
  worker: WorkerContext,
  name: string,
  turn: () => Promise<number>,
  mostBackoffMs: () => number = () => Infinity,
): Loop => {
  const { observe, runtime } = worker.engine;
  const { clock, random } = runtime;
  const { loopBackoff } = worker.settings;
  const waiter = createWaiter(clock);
  let stopping = false;
  let health: LoopHealth = { lastSuccessAt: null, failures: 0, lastError: undefined };

  const run = async (): Promise<void> => {
    while (!stopping) {
      let delayMs: number;
      try {
        delayMs = await turn();
        health = { lastSuccessAt: clock.now(), failures: 0, lastError: undefined };
      } catch (error) {
        observe("workerError", () => ({ workerId: worker.settings.workerId, loop: name, error }));
        health = { ...health, failures: health.failures + 1, lastError: error };
        const longestMs = Math.min(loopBackoff.longestMs, mostBackoffMs());
        delayMs = delayOf({ ...loopBackoff, longestMs }, health.failures, random);
      }
      if (!stopping && delayMs > 0) await waiter.wait(delayMs);
    }
  };
  const ended = run();

  return {
    stop: () => {
      stopping = true;
      waiter.wake();
      return ended;
    },
    wake: waiter.wake,
    health: () => health,
  };
};
