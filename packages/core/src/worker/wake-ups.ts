/** Something the loops of a worker wait for. */
export interface WakeUp<TArguments extends readonly unknown[] = []> {
  readonly signal: (...values: TArguments) => void;
  readonly subscribe: (listener: (...values: TArguments) => void) => void;
}

/**
 * What the parts of a worker have to tell each other against the direction in which jobs pass through them. Made before
 * all of them, so that none needs to know another that comes after it.
 */
export interface WakeUps {
  /** A slot or a place in the buffer has become free, or an outcome was written: there may be room for a claim. */
  readonly roomFreed: WakeUp;
  /** A job of ours will be runnable after this many milliseconds. */
  readonly runnableIn: WakeUp<[ms: number]>;
  /** A job of this type that was counted against a limit has ended: one that was held back may run. */
  readonly limitFreed: WakeUp<[typeName: string]>;
  /** A job with a shorter lease than all before it: the heartbeat has to quicken. */
  readonly leaseShortened: WakeUp;
}

const createWakeUp = <TArguments extends readonly unknown[] = []>(): WakeUp<TArguments> => {
  const listeners: ((...values: TArguments) => void)[] = [];
  return {
    signal: (...values) => {
      for (const listener of listeners) listener(...values);
    },
    subscribe: (listener) => {
      listeners.push(listener);
    },
  };
};

export const createWakeUps = (): WakeUps => ({
  roomFreed: createWakeUp(),
  runnableIn: createWakeUp(),
  limitFreed: createWakeUp(),
  leaseShortened: createWakeUp(),
});
