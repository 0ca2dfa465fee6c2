/** Lets one holder in at a time, in the order of asking. */
export interface Mutex {
  acquire(): Promise<void>;
  release(): void;
}

export const createMutex = (): Mutex => {
  let isHeld = false;
  const waiting: (() => void)[] = [];
  return {
    acquire: () => {
      if (isHeld) return new Promise((resolve) => waiting.push(resolve));
      isHeld = true;
      return Promise.resolve();
    },
    // Passes straight to the next in line, so that nobody slips in between.
    release: () => {
      const next = waiting.shift();
      if (next === undefined) isHeld = false;
      else next();
    },
  };
};
