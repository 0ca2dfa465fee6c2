/** Lets calls about the same keys run one after the other within this process: only processes meet in conflicts. */
export type InTurn = <T>(keys: Iterable<string>, run: () => Promise<T>) => Promise<T>;

export const createTurns = (): InTurn => {
  const last = new Map<string, Promise<void>>();
  return async (keys, run) => {
    const own = new Set(keys);
    if (own.size === 0) return run();
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    // In all lines at once, so that no two calls wait for each other.
    const before = [...own].map((key) => last.get(key));
    for (const key of own) last.set(key, finished);
    await Promise.all(before);
    try {
      return await run();
    } finally {
      finish();
      for (const key of own) if (last.get(key) === finished) last.delete(key);
    }
  };
};
