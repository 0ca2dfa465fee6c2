import type { CronExpression } from "./cron-expression.ts";
import { findOffsetChange, type TimeZone } from "./time-zone.ts";
import { nextWallTime } from "./wall-clock.ts";

const dayMs = 86_400_000;
// Daylight saving moves clocks by up to two hours. What moves them further is a zone that has changed its side of the date line.
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
  const before = zone.offsetAt(wall - dayMs);
  const after = zone.offsetAt(wall + dayMs);
  if (zone.offsetAt(wall - before) === before) return wall - before;
  if (zone.offsetAt(wall - after) === after) return wall - after;
  if (after - before > longestGapMs) return null;
  return findOffsetChange(zone, wall - dayMs, wall + dayMs);
};

const nextByElapsedTime = (cron: CronExpression, zone: TimeZone, after: number): number => {
  let from = after + 1;
  for (;;) {
    const offset = zone.offsetAt(from);
    const inTwoDays = from + 2 * dayMs;
    const instant = nextWallTime(cron, from + offset) - offset;
    const isFar = instant >= inTwoDays;
    const sureUntil = isFar ? inTwoDays : instant;
    if (zone.offsetAt(sureUntil) !== offset) from = findOffsetChange(zone, from, sureUntil);
    else if (isFar) from = Math.max(inTwoDays, instant - 2 * dayMs);
    else return instant;
  }
};
