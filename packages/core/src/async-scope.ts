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
 * One storage for all scopes. Node 20 asks every storage that was ever used at every promise, and has no way to forget
 * one that nobody needs any more: a storage for each `createLeasehold` slowed down a process that creates many.
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
