import { InvalidOptionError } from "../errors.ts";
import { requireDate, requireNestedOptions, requireNumber } from "./option-checks.ts";

/** When a job may run: at a moment, or some time after the store's present. */
export type ScheduleOptions = { at: Date; afterMs?: never } | { at?: never; afterMs: number };

/** The same in the form adapters take: only the store adds `afterMs` to its own clock, so no worker's clock matters. */
export type Schedule = { readonly at: number } | { readonly afterMs: number };

export const immediately: Schedule = { afterMs: 0 };

// The largest date JavaScript can hold.
const latestMs = 8_640_000_000_000_000;
// A hundred years: beyond that it is a mistake in units.
const longestDelayMs = 100 * 365.25 * 24 * 3_600_000;

/** Never in the past: it is also the job's place in line, and nobody who comes now was there before. */
export const resolveSchedule = (schedule: Schedule, now: number): number =>
  "at" in schedule ? Math.max(schedule.at, now) : Math.min(now + schedule.afterMs, latestMs);

export const parseSchedule = (value: unknown, option = "schedule"): Schedule => {
  if (value === undefined) return immediately;
  const { at, afterMs } = requireNestedOptions<keyof ScheduleOptions>(value, option, {
    at: true,
    afterMs: true,
  });
  if ((at === undefined) === (afterMs === undefined)) {
    throw new InvalidOptionError(option, "must have exactly one of `at` and `afterMs`", value);
  }
  if (at !== undefined) return { at: requireDate(at, `${option}.at`).getTime() };
  return { afterMs: Math.ceil(requireNumber(afterMs, `${option}.afterMs`, { min: 0, max: longestDelayMs })) };
};
