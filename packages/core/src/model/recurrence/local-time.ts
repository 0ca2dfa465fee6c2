import type { TimeZone } from "./time-zone.ts";

/** What clocks in the zone show, with the offset that makes it unmistakable: "2026-10-25T02:30:00+02:00". */
export const localTime = (zone: TimeZone, instant: number): string => {
  const offset = zone.offsetAt(instant);
  const wall = new Date(instant + offset).toISOString();
  const fraction = instant % 1_000 === 0 ? "" : wall.slice(19, 23);
  return wall.slice(0, 19) + fraction + formatOffset(offset);
};

const formatOffset = (offset: number): string => {
  const minutes = Math.round(Math.abs(offset) / 60_000);
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
};
