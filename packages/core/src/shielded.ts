/**
 * Calls somebody who is only told of things: a log, a tracer, an `onError`. Whatever it throws, or rejects with, must not
 * change what happens to jobs, nor end the process.
 */
export const shielded = (call: () => unknown): void => {
  try {
    const result = call();
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // There is nobody left to report it to.
  }
};
