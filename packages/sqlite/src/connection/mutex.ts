/** Has one holder at a time, in the order in which they ask. */
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
    // Goes directly to the next in the queue, so that nobody else can take it in between.
    release: () => {
      const next = waiting.shift();
      if (next === undefined) isHeld = false;
      else next();
    },
  };
};
