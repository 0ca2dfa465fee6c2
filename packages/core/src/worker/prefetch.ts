import type { Clock } from "../base/runtime.ts";

/** How many jobs to hold in advance of free slots. */
export interface PrefetchEstimate {
  jobStarted(): void;
  jobFinished(): void;
  /** `limited` where the jobs count against a limit as soon as they are claimed. */
  current(limited: boolean): number;
  /** What was measured no longer holds: jobs have waited in advance without a slot. */
  reset(): void;
}

// Long enough to hide a round trip to the store, short enough that a job does not wait here while another worker idles.
const horizonMs = 50;
// A buffered job occupies a slot of its limit: no longer than the round trip of its claim and its outcome.
const limitedHorizonMs = 10;

const windowMs = 20;
// The first jobs of a burst are no sample of the rest.
const shortestWindowMs = 5;

/**
 * Quick jobs deserve a buffer, slow ones do not: a job that waits behind an hour's work could have run elsewhere. So
 * the buffer holds as many jobs as were lately finished in `horizonMs` of work, and at most `limit`. Idle time does not
 * count: it was spent waiting for the store, and the buffer is there to avoid that.
 */
export const createPrefetchEstimate = (clock: Clock, limit: number): PrefetchEstimate => {
  let running = 0;
  let busySince = 0;
  let busyMs = 0;
  let finished = 0;
  let perMs = 0;

  const beginWindow = (now: number): void => {
    finished = 0;
    busyMs = 0;
    busySince = now;
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
    current: (limited) => {
      const now = clock.monotonic();
      const busy = running > 0 ? busyMs + now - busySince : busyMs;
      let rate = Math.max(perMs, finished / Math.max(busy, shortestWindowMs));
      if (busy >= windowMs) {
        rate = perMs = finished / busy;
        beginWindow(now);
      }
      return Math.min(limit, Math.floor(rate * (limited ? limitedHorizonMs : horizonMs)));
    },
    reset: () => {
      perMs = 0;
      beginWindow(clock.monotonic());
    },
  };
};

/** How long the jobs of one type take in one queue. */
export interface Pace {
  jobStarted(): void;
  jobFinished(ranMs: number): void;
  /** Called at a regular interval. A type whose jobs run, and of which none has ended since the last call, is slow. */
  check(): void;
  /** The next `check` is the first one. */
  endChecks(): void;
  /** Whether a job takes longer than the time for which jobs are claimed in advance. */
  readonly isSlow: boolean;
  readonly running: number;
  /** Jobs of this type in the buffer. */
  waiting: number;
}

// Of the latest job in the mean.
const sampleShare = 0.25;
const stalledMs = 4 * horizonMs;

/** A type is quick until it has been measured. */
export const createPace = (): Pace => {
  let meanMs = 0;
  let running = 0;
  let finished = 0;
  let finishedAtCheck: number | undefined;
  return {
    jobStarted: () => {
      running += 1;
    },
    jobFinished: (ranMs) => {
      running -= 1;
      finished += 1;
      meanMs += (ranMs - meanMs) * sampleShare;
    },
    check: () => {
      if (running > 0 && finished === finishedAtCheck) meanMs = Math.max(meanMs, stalledMs);
      finishedAtCheck = finished;
    },
    endChecks: () => {
      finishedAtCheck = undefined;
    },
    get isSlow() {
      return meanMs > horizonMs;
    },
    get running() {
      return running;
    },
    waiting: 0,
  };
};

/** Finds jobs that have waited in a buffer for too long, by their positions: a time for each would cost every job. */
export interface StaleJobs {
  /** Called at a regular interval; returns how many jobs at the front have been in the buffer for two intervals. */
  check(size: number): number;
  /** Jobs have been taken from the front. */
  taken(count: number): void;
}

// One interval is not enough: after a pause of the process, the next timer may fire before the jobs get their turn.
export const createStaleJobs = (): StaleJobs => {
  let taken = 0;
  /** The position after the last job, at the latest check and at the one before. */
  let lastEnd = 0;
  let earlierEnd = 0;
  return {
    check: (size) => {
      const stale = Math.max(0, Math.min(size, earlierEnd - taken));
      earlierEnd = lastEnd;
      lastEnd = taken + size;
      return stale;
    },
    taken: (count) => {
      taken += count;
    },
  };
};

/** How often the buffers are checked. A job waits two to three of these before it is released. */
export const staleCheckMs = 75;
