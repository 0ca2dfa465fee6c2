import { setTimeout as pause } from "node:timers/promises";

/** Looks again and again until the condition holds; far more patient than any working system needs. */
export const until = async (
  condition: () => boolean | Promise<boolean>,
  what: string,
  patienceMs = 30_000,
): Promise<void> => {
  const deadline = performance.now() + patienceMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited in vain until ${what}`);
    await pause(10);
  }
};
