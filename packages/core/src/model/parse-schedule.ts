import { InvalidOptionError } from "../errors.ts";
import { requireDate, requireNestedOptions, requireNumber } from "./option-checks.ts";
import { immediately, type Schedule, type ScheduleOptions } from "./schedule.ts";

// A hundred years: beyond that it is a mistake in units.
const longestDelayMs = 100 * 365.25 * 24 * 3_600_000;

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
