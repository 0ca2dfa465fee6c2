import { type Runtime, sleep } from "../clock.ts";

/** How often a transaction is run, the first time included. */
const mostRuns = 20;
// One that was open for so long will hardly do better the next time.
const patienceMs = 10_000;
const firstPauseMs = 4;
const longestPauseMs = 250;

/**
 * Runs a transaction, and again when the store has rolled it back in favour of others. Nothing of it was committed then, for
 * certain. Whoever met in a conflict must not meet again, so the pause is anything from nothing to its longest.
 */
export const repeatWhenRolledBack = async <T>(
  { clock, random }: Pick<Runtime, "clock" | "random">,
  isRolledBack: (error: unknown) => boolean,
  run: () => Promise<T>,
): Promise<T> => {
  const end = clock.monotonic() + patienceMs;
  for (let runs = 1; ; runs += 1) {
    try {
      return await run();
    } catch (error) {
      if (runs >= mostRuns || clock.monotonic() >= end || !isRolledBack(error)) throw error;
      await sleep(clock, random() * Math.min(longestPauseMs, firstPauseMs * 2 ** runs));
    }
  }
};
