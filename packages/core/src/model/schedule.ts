/** When a job may run: at a moment, or some time after the store's present. */
export type ScheduleOptions = { at: Date; afterMs?: never } | { at?: never; afterMs: number };

/** The same in the form adapters take: only the store adds `afterMs` to its own clock, so no worker's clock matters. */
export type Schedule = { readonly at: number } | { readonly afterMs: number };

export const immediately: Schedule = { afterMs: 0 };

// The largest date JavaScript can hold.
const latestMs = 8_640_000_000_000_000;

/** Never in the past: it is also the job's place in line, and nobody who comes now was there before. */
export const resolveSchedule = (schedule: Schedule, now: number): number =>
  "at" in schedule ? Math.max(schedule.at, now) : Math.min(now + schedule.afterMs, latestMs);
