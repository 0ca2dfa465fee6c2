import { AsyncLocalStorage } from "node:async_hooks";

/** A value that code finds without being passed it, as long as it runs inside `run`, however many awaits later. */
export interface AsyncScope<T> {
  getStore(): T | undefined;
  run<TArgs extends unknown[], TResult>(
    value: T,
    callback: (...args: TArgs) => TResult,
    ...args: TArgs
  ): TResult;
}

interface Values {
  readonly owner: object;
  readonly value: unknown;
  /** Of other owners; undefined in the usual case that there are none. */
  readonly others: ReadonlyMap<object, unknown> | undefined;
}

/**
 * One storage for all scopes. On Node 20 every storage that was ever used costs time at every promise, and cannot be
 * released: a storage for each `createLeasehold` would slow down a process that creates many.
 */
const storage = new AsyncLocalStorage<Values>();

const othersThan = (owner: object, values: Values | undefined): ReadonlyMap<object, unknown> | undefined => {
  if (values === undefined || (values.owner === owner && values.others === undefined)) return undefined;
  const others = new Map(values.others).set(values.owner, values.value);
  others.delete(owner);
  return others;
};

export const createAsyncScope = <T>(): AsyncScope<T> => {
  const owner = {};
  return {
    getStore: () => {
      const values = storage.getStore();
      return (values?.owner === owner ? values.value : values?.others?.get(owner)) as T | undefined;
    },
    run: (value, callback, ...args) => {
      const others = othersThan(owner, storage.getStore());
      return storage.run({ owner, value, others }, callback, ...args);
    },
  };
};

/** One holder at a time, in the order of `acquire`. */
export interface AsyncLock {
  isHeld(): boolean;
  /** Resolves once every earlier holder has released it. */
  acquire(): Promise<void>;
  /** Passes the lock straight to the next holder. */
  release(): void;
}

export const createAsyncLock = (): AsyncLock => {
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
      // Shifting one by one would copy the whole array each time.
      if (served > 1_000 && served * 2 > waiting.length) {
        waiting = waiting.slice(served);
        served = 0;
      }
      next();
    },
  };
};

/**
 * Calls a log, a tracer or an `onError` and ignores its errors: they must neither change what happens to jobs nor end the
 * process.
 */
export const shielded = (call: () => unknown): void => {
  try {
    const result = call();
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // No reporter is left for the error.
  }
};

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

export const createDeferred = <T>(): Deferred<T> => {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
};

/** A queue whose `shift` does not move the rest. */
export interface Fifo<T> {
  push(item: T): void;
  peek(): T | undefined;
  shift(): T | undefined;
  /** Up to `count` items from the front. */
  take(count: number): T[];
  readonly size: number;
}

const compactAfter = 10_000;

export const createFifo = <T>(): Fifo<T> => {
  let items: (T | undefined)[] = [];
  let head = 0;
  return {
    push: (item) => {
      items.push(item);
    },
    peek: () => items[head],
    shift: () => {
      const item = items[head];
      if (head >= items.length) return undefined;
      items[head] = undefined;
      head += 1;
      if (head === items.length) {
        items = [];
        head = 0;
      }
      return item;
    },
    take: (count) => {
      const taken = items.slice(head, head + count) as T[];
      head += taken.length;
      if (head === items.length || head > compactAfter) {
        items = items.slice(head);
        head = 0;
      }
      return taken;
    },
    get size() {
      return items.length - head;
    },
  };
};
