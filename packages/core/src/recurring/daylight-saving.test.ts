import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { localTime, parseTimeZone } from "./time-zone.ts";
import { createTimetable, parseTimetable } from "./timetable.ts";

/** As clocks on the wall show them, with their offset. */
const localTimesOf = (cron: string, timeZone: string, from: string, until: string): string[] => {
  const timetable = createTimetable(parseTimetable({ cron, timeZone, endAt: new Date(until) }));
  const times: string[] = [];
  let time: number | null = new Date(from).getTime() - 1;
  while ((time = timetable.next(time)) !== null) times.push(localTime(timetable.zone, time).slice(5));
  return times;
};

describe("times that clocks skip in spring", () => {
  it.each([
    // Clocks go from 02:00 to 03:00.
    [
      "Europe/Berlin",
      "30 2 * * *",
      "2026-03-28",
      "2026-03-31",
      ["03-28T02:30:00+01:00", "03-29T03:00:00+02:00", "03-30T02:30:00+02:00"],
    ],
    ["Europe/Berlin", "0,30 2 * * *", "2026-03-29", "2026-03-30", ["03-29T03:00:00+02:00"]],
    ["Europe/Berlin", "0 2,3 * * *", "2026-03-29", "2026-03-30", ["03-29T03:00:00+02:00"]],
    [
      "Europe/Berlin",
      "0 */2 * * *",
      "2026-03-29",
      "2026-03-29T03:00Z",
      ["03-29T03:00:00+02:00", "03-29T04:00:00+02:00"],
    ],
    ["Europe/Berlin", "30 2 29 3 *", "2026-03-28", "2026-03-31", ["03-29T03:00:00+02:00"]],
    ["Europe/Berlin", "59 59 1 * * *", "2026-03-28T22:00Z", "2026-03-29T22:00Z", ["03-29T01:59:59+01:00"]],
    [
      "America/New_York",
      "15 2 * * *",
      "2026-03-07T05:00Z",
      "2026-03-10T04:00Z",
      ["03-07T02:15:00-05:00", "03-08T03:00:00-04:00", "03-09T02:15:00-04:00"],
    ],
    // From 02:00 to 02:30.
    [
      "Australia/Lord_Howe",
      "15 2 * * *",
      "2026-10-02T14:00Z",
      "2026-10-05T13:00Z",
      ["10-03T02:15:00+10:30", "10-04T02:30:00+11:00", "10-05T02:15:00+11:00"],
    ],
    ["Australia/Lord_Howe", "45 2 * * *", "2026-10-03T14:00Z", "2026-10-04T13:00Z", ["10-04T02:45:00+11:00"]],
    // From midnight to 01:00.
    [
      "America/Havana",
      "0 0 * * *",
      "2026-03-07T05:00Z",
      "2026-03-10T03:00Z",
      ["03-07T00:00:00-05:00", "03-08T01:00:00-04:00", "03-09T00:00:00-04:00"],
    ],
    ["America/Havana", "30 0 8 * *", "2026-03-07T05:00Z", "2026-03-10T03:00Z", ["03-08T01:00:00-04:00"]],
    // A whole day is missing: 30 December 2011.
    [
      "Pacific/Apia",
      "0 12 * * *",
      "2011-12-29T10:00Z",
      "2012-01-01T10:00Z",
      ["12-29T12:00:00-10:00", "12-31T12:00:00+14:00", "01-01T12:00:00+14:00"],
    ],
    ["Pacific/Apia", "0 12 30 12 *", "2011-12-01T10:00Z", "2013-01-01T10:00Z", ["12-30T12:00:00+14:00"]],
    [
      "Pacific/Apia",
      "0 0 * * *",
      "2011-12-29T10:00Z",
      "2012-01-01T09:00Z",
      ["12-29T00:00:00-10:00", "12-31T00:00:00+14:00", "01-01T00:00:00+14:00"],
    ],
  ])("%s: %s", (zone, cron, from, until, expected) => {
    expect(localTimesOf(cron, zone, from, until)).toEqual(expected);
  });
});

describe("times that clocks show twice in autumn", () => {
  it.each([
    [
      "Europe/Berlin",
      "30 2 * * *",
      "2026-10-24",
      "2026-10-27",
      ["10-24T02:30:00+02:00", "10-25T02:30:00+02:00", "10-26T02:30:00+01:00"],
    ],
    [
      "Europe/Berlin",
      "0,30 2 * * *",
      "2026-10-25",
      "2026-10-25T12:00Z",
      ["10-25T02:00:00+02:00", "10-25T02:30:00+02:00"],
    ],
    ["Europe/Berlin", "0 3 * * *", "2026-10-25", "2026-10-25T12:00Z", ["10-25T03:00:00+01:00"]],
    [
      "America/New_York",
      "0 1 * * *",
      "2026-11-01T04:00Z",
      "2026-11-02T12:00Z",
      ["11-01T01:00:00-04:00", "11-02T01:00:00-05:00"],
    ],
    // From 02:00 back to 01:30.
    [
      "Australia/Lord_Howe",
      "45 1 * * *",
      "2026-04-03T14:00Z",
      "2026-04-05T15:30Z",
      ["04-04T01:45:00+11:00", "04-05T01:45:00+11:00", "04-06T01:45:00+10:30"],
    ],
    // From 01:00 back to midnight.
    [
      "America/Havana",
      "0 0 * * *",
      "2026-11-01T04:00Z",
      "2026-11-02T12:00Z",
      ["11-01T00:00:00-04:00", "11-02T00:00:00-05:00"],
    ],
    ["America/Havana", "30 0 * * SUN", "2026-11-01T03:00Z", "2026-11-08T04:00Z", ["11-01T00:30:00-04:00"]],
  ])("%s: %s", (zone, cron, from, until, expected) => {
    expect(localTimesOf(cron, zone, from, until)).toEqual(expected);
  });

  it("do not come again for somebody who asks between the two", () => {
    const timetable = createTimetable(parseTimetable({ cron: "30 2 * * *", timeZone: "Europe/Berlin" }));
    const secondQuarterPast = Date.parse("2026-10-25T02:15:00+01:00");
    expect(timetable.next(secondQuarterPast)).toBe(Date.parse("2026-10-26T02:30:00+01:00"));
  });
});

describe("every hour", () => {
  it.each([
    [
      "Europe/Berlin",
      "0 * * * *",
      "2026-03-29T00:00Z",
      "2026-03-29T03:00Z",
      ["03-29T01:00:00+01:00", "03-29T03:00:00+02:00", "03-29T04:00:00+02:00"],
    ],
    [
      "Europe/Berlin",
      "0 * * * *",
      "2026-10-24T23:00Z",
      "2026-10-25T03:00Z",
      ["10-25T01:00:00+02:00", "10-25T02:00:00+02:00", "10-25T02:00:00+01:00", "10-25T03:00:00+01:00"],
    ],
    [
      "Europe/Berlin",
      "*/30 * 25 10 *",
      "2026-10-25T00:15Z",
      "2026-10-25T02:00Z",
      ["10-25T02:30:00+02:00", "10-25T02:00:00+01:00", "10-25T02:30:00+01:00"],
    ],
    [
      "America/Havana",
      "0 * * * *",
      "2026-11-01T03:00Z",
      "2026-11-01T06:00Z",
      ["10-31T23:00:00-04:00", "11-01T00:00:00-04:00", "11-01T00:00:00-05:00"],
    ],
    [
      "Australia/Lord_Howe",
      "30 * * * *",
      "2026-04-04T14:00Z",
      "2026-04-04T16:30Z",
      ["04-05T01:30:00+11:00", "04-05T01:30:00+10:30", "04-05T02:30:00+10:30"],
    ],
    [
      "Pacific/Apia",
      "0 * * * *",
      "2011-12-30T09:00Z",
      "2011-12-30T12:00Z",
      ["12-29T23:00:00-10:00", "12-31T00:00:00+14:00", "12-31T01:00:00+14:00"],
    ],
    // Nothing in sight for months, and then a day on which clocks change.
    [
      "America/New_York",
      "0 * 1 11 *",
      "2026-02-01T00:00Z",
      "2026-11-01T08:00Z",
      ["11-01T00:00:00-04:00", "11-01T01:00:00-04:00", "11-01T01:00:00-05:00", "11-01T02:00:00-05:00"],
    ],
  ])("goes by elapsed time in %s: %s", (zone, cron, from, until, expected) => {
    expect(localTimesOf(cron, zone, from, until)).toEqual(expected);
  });
});

describe("in zones that change their clocks", () => {
  const zones = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Havana",
    "Africa/Casablanca",
    "America/Sao_Paulo",
    "Asia/Gaza",
  ];
  const dayMs = 86_400_000;

  it("a fixed time comes once for each date, in order", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: 2012, max: 2030 }),
        (timeZone, hour, minute, year) => {
          const timetable = createTimetable(parseTimetable({ cron: `${minute} ${hour} * * *`, timeZone }));
          const from = Date.UTC(year, 0, 2);
          const dates: string[] = [];
          let time = from;
          while (dates.length < 365) {
            const next = timetable.next(time)!;
            expect(next).toBeGreaterThan(time);
            time = next;
            dates.push(localTime(timetable.zone, time).slice(0, 10));
          }
          const first = Date.parse(dates[0]!);
          const expected = dates.map((_date, index) =>
            new Date(first + index * dayMs).toISOString().slice(0, 10),
          );
          expect(dates).toEqual(expected);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("every quarter of an hour comes every quarter of an hour", () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.integer({ min: 0, max: 365 * 24 }), (timeZone, hours) => {
        const timetable = createTimetable(parseTimetable({ cron: "*/15 * * * *", timeZone }));
        const from = Date.UTC(2026, 0) + hours * 3_600_000;
        expect(timetable.next(from)).toBe(from + 900_000);
      }),
    );
  });

  it("the latest time before a moment is the one that has that moment before its successor", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom("30 2 * * *", "*/7 * * * *", "0 0 29 2 *", "0 9 * * MON", "*/10 30 1,2 * * *"),
        fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2027, 0) }),
        (timeZone, cron, until) => {
          const timetable = createTimetable(parseTimetable({ cron, timeZone }));
          const after = until - 3 * 366 * dayMs;
          const latest = timetable.latest(after, until);
          if (latest === null) expect(timetable.next(after)).toBeGreaterThan(until);
          else {
            expect(latest).toBeLessThanOrEqual(until);
            expect(timetable.next(latest)).toBeGreaterThan(until);
          }
        },
      ),
    );
  });
});

describe("a time zone", () => {
  it.each([
    ["Europe/Berln", /Did you mean "Europe\/Berlin"/],
    ["Mars/Olympus", /no IANA time zone/],
    ["+02:00", /must be an IANA time zone name/],
    ["", /must be an IANA/],
    [7, /must be an IANA/],
    ["x".repeat(10_000), /must be an IANA/],
  ])("is refused: %s", (timeZone, message) => {
    expect(() => parseTimeZone(timeZone)).toThrow(
      expect.objectContaining({
        code: "InvalidOption",
        option: "timeZone",
        message: expect.stringMatching(message),
      }),
    );
  });
});
