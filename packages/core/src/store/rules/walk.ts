/**
 * A procedure over a store, written once for stores that answer at once and for stores that answer with promises. It
 * calls functions of a port and gets each answer with `yield* answer(port.find(…))`. The store chooses the runner: with
 * `runSync` the port must answer with plain values, with `runAsync` it may answer with promises.
 */
export type Walk<T> = Generator<unknown, T, unknown>;

/** A value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>;

export function* answer<T>(given: Awaitable<T>): Walk<T> {
  // Both runners send back what was yielded, settled.
  return (yield given) as T;
}

/** Runs a walk over a store that answers at once. */
export const runSync = <T>(walk: Walk<T>): T => {
  let step = walk.next();
  while (step.done !== true) step = walk.next(step.value);
  return step.value;
};

/** Runs a walk over a store that answers with promises. */
export const runAsync = async <T>(walk: Walk<T>): Promise<T> => {
  let step = walk.next();
  while (step.done !== true) step = walk.next(await step.value);
  return step.value;
};
