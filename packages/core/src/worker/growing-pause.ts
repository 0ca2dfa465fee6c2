/** How long to leave a store alone that has something due and yet nothing to claim. */
export interface GrowingPause {
  /** The pause after a claim that left room, in milliseconds. `dueIn` is when something is due, by the store's word. */
  next(dueIn: number): number;
  /** There is reason to expect something: jobs were claimed, or a notification came. */
  reset(): void;
}

const shortestMs = 1;
const mostDoublings = 30;

/**
 * Claims and "when is something due" need not agree: a row may be locked by a transaction of somebody else's, or a limit
 * may keep a job back. To ask again at once would be in vain, for who knows how long. So the pauses double, from claim to
 * claim that found nothing though something was to be due within `longestMs`.
 */
export const createGrowingPause = (longestMs: number): GrowingPause => {
  let inVain = 0;
  return {
    next: (dueIn) => {
      const pauseMs = shortestMs * 2 ** Math.min(inVain, mostDoublings);
      inVain = dueIn > longestMs ? 0 : inVain + 1;
      return Math.min(pauseMs, longestMs);
    },
    reset: () => {
      inVain = 0;
    },
  };
};
