import type { Clock } from "../clock.ts";

/** How many jobs to hold in advance of free slots. */
export interface PrefetchEstimate {
  jobStarted(): void;
  jobFinished(): void;
  current(): number;
}

// Long enough to hide a round trip to the store, short enough that a job does not wait here while another worker idles.
const horizonMs = 50;
const windowMs = 20;
// The first jobs of a burst say little about the rest.
const shortestWindowMs = 5;

/**
 * Quick jobs deserve a buffer, slow ones do not: a job that waits behind an hour's work could have run elsewhere. So
 * the buffer holds what was lately finished in a few dozen milliseconds of work, and at most `limit`. Time in which
 * nothing ran does not count: it was spent waiting for the store, which is what the buffer is for.
 */
export const createPrefetchEstimate = (clock: Clock, limit: number): PrefetchEstimate => {
  let running = 0;
  let busySince = 0;
  let busyMs = 0;
  let finished = 0;
  let perMs = 0;

  const measure = (): number => {
    const now = clock.monotonic();
    const busy = running > 0 ? busyMs + now - busySince : busyMs;
    if (busy < windowMs) return Math.max(perMs, finished / Math.max(busy, shortestWindowMs));
    perMs = finished / busy;
    finished = 0;
    busyMs = 0;
    busySince = now;
    return perMs;
  };

  return {
    jobStarted: () => {
      if (running === 0) busySince = clock.monotonic();
      running += 1;
    },
    jobFinished: () => {
      finished += 1;
      running -= 1;
      if (running === 0) busyMs += clock.monotonic() - busySince;
    },
    current: () => Math.min(limit, Math.floor(measure() * horizonMs)),
  };
};
