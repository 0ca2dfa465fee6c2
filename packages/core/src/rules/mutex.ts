/** Lets one holder in at a time, in the order of asking. */
export interface Mutex {
  isHeld(): boolean;
  /** Held at once if it is free; else when every earlier one has released it. */
  acquire(): Promise<void>;
  /** Passes straight to the next in line, so nobody can slip in between. */
  release(): void;
}

export const createMutex = (): Mutex => {
  let held = false;
  let waiting: (() => void)[] = [];
  let served = 0;

  return {
    isHeld: () => held,
    acquire: () => {
      if (held) return new Promise((resolve) => waiting.push(resolve));
      held = true;
      return Promise.resolve();
    },
    release: () => {
      const next = waiting[served];
      if (next === undefined) {
        held = false;
        waiting = [];
        served = 0;
        return;
      }
      served += 1;
      // Shifting one by one would cost a copy of the whole line each time.
      if (served > 1_000 && served * 2 > waiting.length) {
        waiting = waiting.slice(served);
        served = 0;
      }
      next();
    },
  };
};
