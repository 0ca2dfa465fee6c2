import { InvalidOptionError } from "../base/errors.ts";
import { longestDurationMs, requireDate, requireInteger } from "../base/options.ts";
import { nextCronTime } from "./cron-times.ts";
import { parseCronExpression } from "./cron.ts";
import { parseTimeZone, type TimeZone } from "./time-zone.ts";

/**
 * When the run for a nominal time begins: up to `jitterMs` later, always the same for a job and a time. Spread evenly, but
 * only as far as the next nominal time, so that runs keep their order and none is overtaken by the next.
 */
export const jitteredTime = (
  id: string,
  nominalAt: number,
  jitterMs: number,
  nextNominalAt: number | null,
): number => {
  if (jitterMs === 0) return nominalAt;
  const widthMs = nextNominalAt === null ? jitterMs : Math.min(jitterMs, nextNominalAt - nominalAt);
  return nominalAt + (hash(`${id} ${nominalAt}`) % widthMs);
};

/** FNV-1a, then the final steps of MurmurHash3, without which similar texts give similar numbers. */
const hash = (text: string): number => {
  let mixed = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193);
  }
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
};

/** When a recurring job comes, as it is stored: by a cron expression, or at an interval. */
export type TimetableDefinition = { readonly startAt: number | null; readonly endAt: number | null } & (
  | { readonly cron: string; readonly timeZone: string }
  | { readonly everyMs: number; readonly anchorAt: number }
);

/** The nominal times of a recurring job. They strictly rise. */
export interface Timetable {
  readonly zone: TimeZone;
  /** The first one after this moment; null when there is none any more. */
  next(after: number): number | null;
  /** The last one that is not after this moment, if it is after `after`; null if there is none. */
  latest(after: number, until: number): number | null;
  /** How many there are after one moment and not after another, counted up to `limit`. */
  count(after: number, until: number, limit: number): number;
}

export const timetableOptionNames = {
  cron: true,
  timeZone: true,
  everyMs: true,
  anchorAt: true,
  startAt: true,
  endAt: true,
} as const;

type UncheckedTimetable = { readonly [K in keyof typeof timetableOptionNames]?: unknown };

// Every tick is a transaction.
const shortestIntervalMs = 1_000;

export const parseTimetable = (options: UncheckedTimetable): TimetableDefinition => {
  const startAt = optionalTime(options.startAt, "startAt");
  const endAt = optionalTime(options.endAt, "endAt");
  if (startAt !== null && endAt !== null && endAt <= startAt) {
    throw new InvalidOptionError("endAt", "must be after `startAt`");
  }
  if ((options.cron === undefined) === (options.everyMs === undefined)) {
    throw new InvalidOptionError("cron", "or `everyMs` must be given, and not both");
  }
  if (options.cron !== undefined) {
    refuseFor("cron", options, "anchorAt", "write the time into the expression");
    parseCronExpression(options.cron);
    const { name } = parseTimeZone(options.timeZone);
    return { cron: (options.cron as string).trim(), timeZone: name, startAt, endAt };
  }
  refuseFor("everyMs", options, "timeZone", "an interval goes by elapsed time, the same in every zone");
  const everyMs = requireInteger(options.everyMs, "everyMs", {
    min: shortestIntervalMs,
    max: longestDurationMs,
  });
  const anchorAt = optionalTime(options.anchorAt, "anchorAt") ?? startAt ?? 0;
  return { everyMs, anchorAt, startAt, endAt };
};

const optionalTime = (value: unknown, option: string): number | null =>
  value === undefined || value === null ? null : requireDate(value, option).getTime();

const refuseFor = (
  kind: string,
  options: UncheckedTimetable,
  name: "anchorAt" | "timeZone",
  why: string,
): void => {
  if (options[name] !== undefined) {
    throw new InvalidOptionError(name, `must be left out with \`${kind}\`: ${why}`);
  }
};

export const createTimetable = (definition: TimetableDefinition): Timetable => {
  const zone = parseTimeZone("cron" in definition ? definition.timeZone : undefined);
  const nextOf = "cron" in definition ? cronTimes(definition.cron, zone) : intervalTimes(definition);
  const { startAt, endAt } = definition;

  const next = (after: number): number | null => {
    const time = nextOf(startAt === null ? after : Math.max(after, startAt - 1));
    return time > latestDate || (endAt !== null && time >= endAt) ? null : time;
  };
  return timetableFrom(zone, next);
};

/** The same with one time more, by which a run is due although the zone data of today have no such time. */
export const withTime = (timetable: Timetable, extra: number): Timetable =>
  timetableFrom(timetable.zone, (after) => {
    const time = timetable.next(after);
    return extra > after && (time === null || extra < time) ? extra : time;
  });

/** A set-back of the store's clock, after which nominal times that have been decided on come again. */
export interface ClockSetBack {
  /** Times up to this one have been decided on. */
  readonly until: number;
  /** Whether they are run again, under nominal times of their own. */
  readonly repeats: boolean;
  /** How much later these are: one millisecond more after every set-back. */
  readonly shiftMs: number;
}

// Less than the shortest interval, so that times keep their order.
const longestShiftMs = 999;

/** What a set-back means for a recurring job whose first undecided time is `nextNominalAt`. */
export const noteSetBack = (
  timetable: Timetable,
  nextNominalAt: number,
  before: ClockSetBack | null,
  now: number,
): ClockSetBack => {
  const until = Math.max(nextNominalAt - 1, before?.until ?? -Infinity);
  return {
    until,
    // A job that comes every night does not run twice in the night in which the clock is corrected.
    repeats: timetable.count(now, until, 2) > 1,
    shiftMs: ((before?.shiftMs ?? 0) % longestShiftMs) + 1,
  };
};

/** The same after a set-back: no time that has been decided on comes again as it was. */
export const withSetBack = (timetable: Timetable, setBack: ClockSetBack | null): Timetable => {
  if (setBack === null) return timetable;
  const { until, repeats, shiftMs } = setBack;
  return timetableFrom(timetable.zone, (after) => {
    const repeated = repeats ? timetable.next(after - shiftMs) : null;
    if (repeated !== null && repeated <= until) return repeated + shiftMs;
    return timetable.next(Math.max(after, until));
  });
};

const timetableFrom = (zone: TimeZone, next: Timetable["next"]): Timetable => {
  const latest = (after: number, until: number): number | null => {
    let found = next(after);
    if (found === null || found > until) return null;
    // Times rise, so halving what is left always finds the last one.
    let end = until;
    while (end > found) {
      const middle = Math.floor((found + end) / 2);
      const later = next(middle);
      if (later !== null && later <= until) found = later;
      else end = middle;
    }
    return found;
  };

  const count = (after: number, until: number, limit: number): number => {
    let counted = 0;
    for (let time = next(after); time !== null && time <= until && counted < limit; time = next(time))
      counted += 1;
    return counted;
  };

  return { zone, next, latest, count };
};

// The largest date JavaScript can hold, less a year: offsets and searches go beyond the time they look at.
const latestDate = 8_640_000_000_000_000 - longestDurationMs;

const cronTimes = (expression: string, zone: TimeZone): ((after: number) => number) => {
  const cron = parseCronExpression(expression);
  return (after) => (after >= latestDate ? Infinity : nextCronTime(cron, zone, after));
};

const intervalTimes =
  ({ everyMs, anchorAt }: { readonly everyMs: number; readonly anchorAt: number }) =>
  (after: number): number =>
    anchorAt + (Math.floor((after - anchorAt) / everyMs) + 1) * everyMs;
