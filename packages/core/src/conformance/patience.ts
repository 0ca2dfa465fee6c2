import { setTimeout as pause } from "node:timers/promises";

/** Far longer than anything takes: it only turns a test that hangs into one that says what it waited for. */
export const patienceMs = 20_000;

/** Settles like `promise`, unless that takes longer than any working system would. */
export const within = async <T>(promise: Promise<T>, what: string): Promise<T> => {
  const given = new AbortController();
  const guard = async (): Promise<never> => {
    await pause(patienceMs, undefined, { signal: given.signal });
    throw new Error(`Timed out waiting for ${what}`);
  };
  try {
    return await Promise.race([promise, guard()]);
  } finally {
    given.abort();
  }
};

/** Looks again and again until `condition` holds. */
export const until = async (condition: () => boolean | Promise<boolean>, what: string): Promise<void> => {
  const deadline = performance.now() + patienceMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Timed out waiting until ${what}`);
    await pause(2);
  }
};
