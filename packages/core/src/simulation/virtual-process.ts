import type { Clock } from "../base/runtime.ts";
import type { ManualClock } from "../testing/manual-clock.ts";

/**
 * One operating-system process as others see it. Everything that could wake code in it (timers, replies, notifications) passes
 * here: while it is paused these wait, and once it is dead they never arrive.
 */
export interface VirtualProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly isDead: boolean;
  /** Rejects at death: whatever the process had open at the store is then rolled back, as by a lost connection. */
  readonly death: Promise<never>;
  kill(): void;
  /** Stops it for so long, or longer if it is paused already. */
  pause(ms: number): void;
  resume(): void;
  /** Moves what its own wall clock reads. */
  stepWallClock(ms: number): void;
  /** Runs the callback now, at the end of a pause, or never. */
  run(callback: () => void): void;
  /** Resolves as soon as the process may go on. */
  awake(): Promise<void>;
}

class ProcessKilledError extends Error {
  override readonly name = "ProcessKilledError";
}

export const createVirtualProcess = (name: string, shared: ManualClock): VirtualProcess => {
  let dead = false;
  let pausedUntil = 0;
  let wallOffset = 0;
  let waiting: (() => void)[] = [];
  let onDeath: (error: Error) => void = () => undefined;
  const death = new Promise<never>((_resolve, reject) => {
    onDeath = reject;
  });
  // Usually no caller waits for it.
  death.catch(() => undefined);

  const run = (callback: () => void): void => {
    if (dead) return;
    if (pausedUntil > 0) waiting.push(callback);
    else callback();
  };

  const resume = (): void => {
    pausedUntil = 0;
    // One callback may pause the process again; the rest then goes on waiting.
    for (const callback of waiting.splice(0)) run(callback);
  };

  const clock: Clock = {
    now: () => shared.now() + wallOffset,
    monotonic: () => shared.monotonic(),
    setTimer: (callback, delayMs) => {
      let cancelled = false;
      const cancel = shared.setTimer(() => run(() => (cancelled ? undefined : callback())), delayMs);
      return () => {
        cancelled = true;
        cancel();
      };
    },
    soon: (callback) => shared.soon(() => run(callback)),
  };

  return {
    name,
    clock,
    death,
    get isDead() {
      return dead;
    },
    kill: () => {
      if (dead) return;
      dead = true;
      waiting = [];
      onDeath(new ProcessKilledError(`${name} was killed.`));
    },
    pause: (ms) => {
      const until = shared.monotonic() + ms;
      if (dead || until <= pausedUntil) return;
      pausedUntil = until;
      shared.setTimer(() => {
        if (pausedUntil === until) resume();
      }, ms);
    },
    resume,
    stepWallClock: (ms) => {
      wallOffset += ms;
    },
    run,
    awake: () => (dead || pausedUntil > 0 ? new Promise((resolve) => run(resolve)) : Promise.resolve()),
  };
};
