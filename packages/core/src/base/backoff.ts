import { type Runtime, sleep } from "./runtime.ts";

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

/** How long to leave a store alone that has something due and yet nothing to claim. */
export interface GrowingPause {
  /** The pause after a claim that left room, in milliseconds. `dueIn` is when something is due, by the store's word. */
  next(dueIn: number): number;
  /** There is reason to expect something: jobs were claimed, or a notification came. */
  reset(): void;
}

// About as long as another worker takes to claim the job: mostly it is that, and then there is nothing left to ask for.
const shortestMs = 5;

const mostDoublings = 30;

/**
 * A claim can find nothing although `nextRunnableIn` says that a job is due: another transaction may have locked the row, or
 * a limit may hold the job back. Nobody knows for how long, so asking again at once would only load the store. The pause
 * doubles with each claim that finds nothing while a job is due within `longestMs`.
 */
export const createGrowingPause = (longestMs: number): GrowingPause => {
  let emptyClaims = 0;
  return {
    next: (dueIn) => {
      const pauseMs = shortestMs * 2 ** Math.min(emptyClaims, mostDoublings);
      emptyClaims = dueIn > longestMs ? 0 : emptyClaims + 1;
      return Math.min(pauseMs, longestMs);
    },
    reset: () => {
      emptyClaims = 0;
    },
  };
};
