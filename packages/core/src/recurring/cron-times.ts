import type { CronExpression } from "./cron.ts";
import { findOffsetChange, type TimeZone } from "./time-zone.ts";

/*
 * Wall time: what clocks on the wall show, as if it were UTC. A calendar without time zones, so arithmetic is exact and
 * no zone data is needed.
 */

const secondMs = 1_000;

const dayMs = 86_400_000;
// From one 29 February to the next it can take eight years, around 2100.
const longestSearchMonths = 12 * 9;

/** The first wall time that matches, `from` itself included. There is always one: impossible dates are refused before. */
const nextWallTime = (cron: CronExpression, from: number): number => {
  const start = Math.ceil(from / secondMs) * secondMs;
  const dayStart = Math.floor(start / dayMs) * dayMs;
  if (matchesDate(cron, new Date(dayStart))) {
    const time = nextTimeOfDay(cron, (start - dayStart) / secondMs);
    if (time !== null) return dayStart + time * secondMs;
  }
  return nextMatchingDate(cron, dayStart + dayMs) + nextTimeOfDay(cron, 0)! * secondMs;
};

const daysInMonth = (year: number, month: number): number => new Date(Date.UTC(year, month, 0)).getUTCDate();

const matchesDate = (cron: CronExpression, date: Date): boolean => {
  const month = date.getUTCMonth() + 1;
  return (
    cron.months.includes(month) &&
    matchesDay(cron, date.getUTCDate(), date.getUTCDay(), daysInMonth(date.getUTCFullYear(), month))
  );
};

const matchesDay = (cron: CronExpression, day: number, weekday: number, lastDay: number): boolean => {
  const byDay = cron.days.includes(day) || (cron.lastDay && day === lastDay);
  const byWeekday = cron.weekdays.includes(weekday);
  return cron.dayOrWeekday ? byDay || byWeekday : byDay && byWeekday;
};

/** The first date that matches, as the start of that day; `from` is the start of a day. */
const nextMatchingDate = (cron: CronExpression, from: number): number => {
  const first = new Date(from);
  let day = first.getUTCDate();
  let month = first.getUTCMonth() + 1;
  let year = first.getUTCFullYear();
  for (let searched = 0; searched <= longestSearchMonths; searched += 1) {
    if (cron.months.includes(month)) {
      const lastDay = daysInMonth(year, month);
      const firstWeekday = new Date(Date.UTC(year, month - 1, 1)).getUTCDay();
      for (; day <= lastDay; day += 1) {
        if (matchesDay(cron, day, (firstWeekday + day - 1) % 7, lastDay))
          return Date.UTC(year, month - 1, day);
      }
    }
    day = 1;
    month += 1;
    if (month > 12) {
      month = 1;
      year += 1;
    }
  }
  throw new Error("A cron expression that was accepted never comes.");
};

/** Seconds since the start of the day, `from` included; null when the day has none left. */
const nextTimeOfDay = (cron: CronExpression, from: number): number | null => {
  const fromHour = Math.floor(from / 3_600);
  for (const hour of cron.hours) {
    if (hour < fromHour) continue;
    const fromMinute = hour === fromHour ? Math.floor((from % 3_600) / 60) : 0;
    for (const minute of cron.minutes) {
      if (minute < fromMinute) continue;
      const isFirstMinute = hour === fromHour && minute === fromMinute;
      const second = cron.seconds.find((candidate) => !isFirstMinute || candidate >= from % 60);
      if (second !== undefined) return hour * 3_600 + minute * 60 + second;
    }
  }
  return null;
};

const dayMsCronTimes = 86_400_000;
// Daylight saving moves clocks by up to two hours. A larger shift means that the zone has crossed the date line.
const longestGapMs = 3 * 3_600_000;

/**
 * The first time after `after` at which a cron expression comes in a zone.
 *
 * - An expression for certain hours comes once for each matching date and wall time. A time that clocks skip comes when the gap
 *   ends, one that they show twice comes the first time. In a gap of more than three hours it does not come.
 * - One for every hour (`*`) comes whenever clocks show a time that matches: it goes by elapsed time.
 */
export const nextCronTime = (cron: CronExpression, zone: TimeZone, after: number): number =>
  cron.everyHour ? nextByElapsedTime(cron, zone, after) : nextByWallTime(cron, zone, after);

const nextByWallTime = (cron: CronExpression, zone: TimeZone, after: number): number => {
  let wall = after + zone.offsetAt(after);
  for (;;) {
    wall = nextWallTime(cron, wall + 1);
    const instant = firstInstantOf(zone, wall);
    // Not later: clocks went back, and this is the second time that they show it.
    if (instant !== null && instant > after) return instant;
  }
};

/** When clocks first show a wall time; for one that they skip, when the gap ends; null if the gap is too long. */
const firstInstantOf = (zone: TimeZone, wall: number): number | null => {
  // Offsets are less than a day, and no zone changes its own twice in two days.
  const before = zone.offsetAt(wall - dayMsCronTimes);
  const after = zone.offsetAt(wall + dayMsCronTimes);
  if (zone.offsetAt(wall - before) === before) return wall - before;
  if (zone.offsetAt(wall - after) === after) return wall - after;
  if (after - before > longestGapMs) return null;
  return findOffsetChange(zone, wall - dayMsCronTimes, wall + dayMsCronTimes);
};

const nextByElapsedTime = (cron: CronExpression, zone: TimeZone, after: number): number => {
  let from = after + 1;
  for (;;) {
    const offset = zone.offsetAt(from);
    const inTwoDays = from + 2 * dayMsCronTimes;
    const instant = nextWallTime(cron, from + offset) - offset;
    const isFar = instant >= inTwoDays;
    const sureUntil = isFar ? inTwoDays : instant;
    if (zone.offsetAt(sureUntil) !== offset) from = findOffsetChange(zone, from, sureUntil);
    else if (isFar) from = Math.max(inTwoDays, instant - 2 * dayMsCronTimes);
    else return instant;
  }
};
