import type { Clock } from "../clock.ts";

/** How many jobs to hold in advance of free slots. */
export interface PrefetchEstimate {
  jobFinished(): void;
  current(): number;
}

// Long enough to hide a round trip to the store, short enough that a job does not wait here while another worker idles.
const horizonMs = 50;
const windowMs = 20;

/**
 * Quick jobs deserve a buffer, slow ones do not: a job that waits behind an hour's work could have run elsewhere. So
 * the buffer holds what was lately finished in a few dozen milliseconds, and at most `limit`.
 */
export const createPrefetchEstimate = (clock: Clock, limit: number): PrefetchEstimate => {
  let finished = 0;
  let windowStart = clock.monotonic();
  let perMs = 0;

  const measure = (): void => {
    const now = clock.monotonic();
    const elapsed = now - windowStart;
    if (elapsed < windowMs) return;
    perMs = finished / elapsed;
    finished = 0;
    windowStart = now;
  };

  return {
    jobFinished: () => {
      finished += 1;
    },
    current: () => {
      measure();
      const rate = Math.max(perMs, finished / windowMs);
      return Math.min(limit, Math.floor(rate * horizonMs));
    },
  };
};
