import { InvalidOptionError } from "../base/errors.ts";
import { closestName } from "../base/options.ts";

/** How far clocks on the wall are from UTC, by the zone data of this process. */
export interface TimeZone {
  readonly name: string;
  /** In milliseconds; positive east of Greenwich. */
  offsetAt(instant: number): number;
}

const utc: TimeZone = { name: "UTC", offsetAt: () => 0 };

const known = new Map<string, TimeZone>();

const mostKnown = 1_000;

/** A zone by its IANA name. There is no default that depends on the machine. */
export const parseTimeZone = (value: unknown, option = "timeZone"): TimeZone => {
  if (value === undefined || value === "UTC") return utc;
  const found = typeof value === "string" ? known.get(value) : undefined;
  if (found) return found;
  const zone = createTimeZone(value, option);
  if (known.size >= mostKnown) known.clear();
  known.set(zone.name, zone);
  return zone;
};

const createTimeZone = (value: unknown, option: string): TimeZone => {
  // Newer runtimes also accept offsets such as "+02:00", which know nothing of daylight saving.
  if (typeof value !== "string" || !/^[A-Za-z][\w+/-]{0,99}$/.test(value)) {
    throw new InvalidOptionError(
      option,
      'must be an IANA time zone name such as "Europe/Berlin" or "UTC"',
      value,
    );
  }
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { timeZone: value, timeZoneName: "longOffset" });
  } catch {
    const closest = closestName(value, Intl.supportedValuesOf("timeZone"));
    const hint = closest === undefined ? "" : `. Did you mean "${closest}"?`;
    throw new InvalidOptionError(
      option,
      `is no IANA time zone that this runtime knows: ${JSON.stringify(value)}${hint}`,
    );
  }
  return { name: value, offsetAt: (instant) => readOffset(format.format(instant)) };
};

/** From the end of a text such as "3/29/2026, GMT+02:00"; zones have had offsets with seconds. */
const readOffset = (formatted: string): number => {
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(formatted);
  if (!match) throw new Error(`The runtime wrote a time zone offset that cannot be read: ${formatted}`);
  const [, sign, hours, minutes, seconds] = match;
  if (sign === undefined) return 0;
  const size = Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds ?? 0) * 1_000;
  return sign === "-" ? -size : size;
};

/** The first instant after `from` at which the offset is another than at `from`; it has changed by `to`. */
export const findOffsetChange = (zone: TimeZone, from: number, to: number): number => {
  const before = zone.offsetAt(from);
  let earliest = from;
  let latest = to;
  while (latest - earliest > 1) {
    const middle = Math.floor((earliest + latest) / 2);
    if (zone.offsetAt(middle) === before) earliest = middle;
    else latest = middle;
  }
  return latest;
};

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
