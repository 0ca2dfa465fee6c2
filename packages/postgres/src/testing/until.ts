import { setTimeout as pause } from "node:timers/promises";

/** Polls until the condition holds. The default timeout is far longer than a working system needs. */
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
