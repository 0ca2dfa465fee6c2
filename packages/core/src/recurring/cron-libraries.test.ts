import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";
import { describe, expect, it } from "vitest";
import { createTimetable, parseTimetable } from "./timetable.ts";

/** The next times after a moment, without seconds where they are 0. All times of this page are UTC. */
type Library = (cron: string, timeZone: string, from: string, count: number) => string[];

const shorten = (time: Date): string => time.toISOString().replace(/(:00)?\.000Z$/, "");

const leasehold: Library = (cron, timeZone, from, count) => {
  const timetable = createTimetable(parseTimetable({ cron, timeZone }));
  const times: string[] = [];
  let time: number | null = Date.parse(`${from}Z`);
  while (times.length < count && (time = timetable.next(time)) !== null) times.push(shorten(new Date(time)));
  return times;
};

const cronParser: Library = (cron, tz, from, count) => {
  const expression = CronExpressionParser.parse(cron, { currentDate: new Date(`${from}Z`), tz });
  return Array.from({ length: count }, () => shorten(expression.next().toDate()));
};

const croner: Library = (cron, timezone, from, count) =>
  new Cron(cron, { timezone, paused: true }).nextRuns(count, new Date(`${from}Z`)).map(shorten);

// Expressions as the tests of cron-parser and croner have them. The times were checked against both, and are again here.
const ordinary: readonly [cron: string, timeZone: string, from: string, times: string][] = [
  ["* * * * *", "UTC", "2026-02-28T23:58:30", "2026-02-28T23:59 2026-03-01T00:00 2026-03-01T00:01"],
  ["*\t*  * *   *", "UTC", "2026-12-31T23:59:59", "2027-01-01T00:00 2027-01-01T00:01"],
  ["*/3 * * * *", "UTC", "2026-05-01T00:56", "2026-05-01T00:57 2026-05-01T01:00 2026-05-01T01:03"],
  [
    "*/20 * * * *",
    "UTC",
    "2026-05-01T00:01",
    "2026-05-01T00:20 2026-05-01T00:40 2026-05-01T01:00 2026-05-01T01:20",
  ],
  [
    "*/25 * * * *",
    "UTC",
    "2026-05-01T00:49",
    "2026-05-01T00:50 2026-05-01T01:00 2026-05-01T01:25 2026-05-01T01:50",
  ],
  ["0,15,30,45 * * * *", "UTC", "2026-05-01T10:44", "2026-05-01T10:45 2026-05-01T11:00 2026-05-01T11:15"],
  ["0,30,59 * * * *", "UTC", "2026-05-01T10:30", "2026-05-01T10:59 2026-05-01T11:00 2026-05-01T11:30"],
  [
    "1,2,4-6,20-35/5,57 * * * *",
    "UTC",
    "2026-05-01T03:05:30",
    "2026-05-01T03:06 2026-05-01T03:20 2026-05-01T03:25 2026-05-01T03:30 2026-05-01T03:35 2026-05-01T03:57 2026-05-01T04:01",
  ],
  [
    "10-30/10 2 * * *",
    "UTC",
    "2026-05-01T02:15",
    "2026-05-01T02:20 2026-05-01T02:30 2026-05-02T02:10 2026-05-02T02:20",
  ],
  ["59 23 * * *", "UTC", "2026-12-30T23:59", "2026-12-31T23:59 2027-01-01T23:59"],
  ["20 15 * * *", "UTC", "2026-05-31T16:00", "2026-06-01T15:20 2026-06-02T15:20"],
  ["0 9,12,15,18 * * 1-5", "UTC", "2026-05-15T15:30", "2026-05-15T18:00 2026-05-18T09:00 2026-05-18T12:00"],
  [
    "0 12,13,10,1-3 * * *",
    "UTC",
    "2026-05-01T02:30",
    "2026-05-01T03:00 2026-05-01T10:00 2026-05-01T12:00 2026-05-01T13:00 2026-05-02T01:00 2026-05-02T02:00",
  ],
  ["0 9-17 * * *", "UTC", "2026-05-01T16:00", "2026-05-01T17:00 2026-05-02T09:00 2026-05-02T10:00"],
  ["0 */5 * * *", "UTC", "2026-05-01T18:00", "2026-05-01T20:00 2026-05-02T00:00 2026-05-02T05:00"],
  ["0 0-20/5 * * *", "UTC", "2026-05-01T18:00", "2026-05-01T20:00 2026-05-02T00:00 2026-05-02T05:00"],
  [
    "0 1-3,10-12 * * *",
    "UTC",
    "2026-05-01T02:59:59",
    "2026-05-01T03:00 2026-05-01T10:00 2026-05-01T11:00 2026-05-01T12:00",
  ],
  [
    "1 1 1-12/3,5 * * *",
    "UTC",
    "2026-05-01T00:00",
    "2026-05-01T01:01:01 2026-05-01T04:01:01 2026-05-01T05:01:01 2026-05-01T07:01:01 2026-05-01T10:01:01 2026-05-02T01:01:01",
  ],
  ["*/10 2-2 * * *", "UTC", "2026-05-01T02:45", "2026-05-01T02:50 2026-05-02T02:00"],
  ["0 0 * * *", "UTC", "2028-02-28T00:00", "2028-02-29T00:00 2028-03-01T00:00 2028-03-02T00:00"],
  ["15 10 * * SUN", "UTC", "2026-05-01T00:00", "2026-05-03T10:15 2026-05-10T10:15"],
  ["15 10 * * mon-tue", "UTC", "2026-05-01T00:00", "2026-05-04T10:15 2026-05-05T10:15 2026-05-11T10:15"],
  [
    "15 10 * jAn-FeB mOn-tUE",
    "UTC",
    "2026-02-23T12:00",
    "2026-02-24T10:15 2027-01-04T10:15 2027-01-05T10:15",
  ],
  ["0 0 * * 5,6", "UTC", "2026-05-01T00:00", "2026-05-02T00:00 2026-05-08T00:00 2026-05-09T00:00"],
  ["0 0 * * 0", "UTC", "2026-05-01T00:00", "2026-05-03T00:00 2026-05-10T00:00"],
  ["0 0 * * 6-7", "UTC", "2026-05-01T00:00", "2026-05-02T00:00 2026-05-03T00:00 2026-05-09T00:00"],
  [
    "0 8 * * 0,2,4",
    "UTC",
    "2026-05-29T00:00",
    "2026-05-31T08:00 2026-06-02T08:00 2026-06-04T08:00 2026-06-07T08:00",
  ],
  [
    "0 * * * mon,tue,wed,fri,sat,sun",
    "UTC",
    "2026-05-06T22:30",
    "2026-05-06T23:00 2026-05-08T00:00 2026-05-08T01:00",
  ],
  ["0 0 1 * *", "UTC", "2026-11-15T00:00", "2026-12-01T00:00 2027-01-01T00:00 2027-02-01T00:00"],
  [
    "0 0 1,15,31 * *",
    "UTC",
    "2026-03-31T00:00",
    "2026-04-01T00:00 2026-04-15T00:00 2026-05-01T00:00 2026-05-15T00:00 2026-05-31T00:00 2026-06-01T00:00",
  ],
  ["0 0 16,31 6 *", "UTC", "2026-01-01T00:00", "2026-06-16T00:00 2027-06-16T00:00"],
  [
    "0 12 */5 6 *",
    "UTC",
    "2026-06-01T13:00",
    "2026-06-06T12:00 2026-06-11T12:00 2026-06-16T12:00 2026-06-21T12:00 2026-06-26T12:00 2027-06-01T12:00 2027-06-06T12:00",
  ],
  [
    "0 0 2-4,28-31 * *",
    "UTC",
    "2026-02-03T12:00",
    "2026-02-04T00:00 2026-02-28T00:00 2026-03-02T00:00 2026-03-03T00:00",
  ],
  ["0 0 30 * *", "UTC", "2026-01-30T00:00", "2026-03-30T00:00 2026-04-30T00:00"],
  ["0 0 31 1,6 *", "UTC", "2026-02-01T00:00", "2027-01-31T00:00 2028-01-31T00:00"],
  ["0 0 29 2 *", "UTC", "2024-02-29T00:00", "2028-02-29T00:00 2032-02-29T00:00"],
  ["0 0 29 * *", "UTC", "2027-01-29T00:00", "2027-03-29T00:00 2027-04-29T00:00"],
  ["0 0 * 2 *", "UTC", "2027-02-27T00:00", "2027-02-28T00:00 2028-02-01T00:00 2028-02-02T00:00"],
  ["0 9 1 1 *", "UTC", "2026-01-01T09:00", "2027-01-01T09:00 2028-01-01T09:00"],
  [
    "0 0 1 */3 *",
    "UTC",
    "2026-02-01T00:00",
    "2026-04-01T00:00 2026-07-01T00:00 2026-10-01T00:00 2027-01-01T00:00",
  ],
  ["0 0 1 1,6,12 *", "UTC", "2026-06-01T00:00", "2026-12-01T00:00 2027-01-01T00:00 2027-06-01T00:00"],
  [
    "30 4 1 JAN,Apr,jul,OCT *",
    "UTC",
    "2026-04-01T04:30",
    "2026-07-01T04:30 2026-10-01T04:30 2027-01-01T04:30",
  ],
  [
    "0 0 L * *",
    "UTC",
    "2028-01-31T00:00",
    "2028-02-29T00:00 2028-03-31T00:00 2028-04-30T00:00 2028-05-31T00:00",
  ],
  ["0 0 L 2 *", "UTC", "2027-01-01T00:00", "2027-02-28T00:00 2028-02-29T00:00"],
  [
    "0 0 1,3,6-8,L 2 *",
    "UTC",
    "2027-02-06T00:00",
    "2027-02-07T00:00 2027-02-08T00:00 2027-02-28T00:00 2028-02-01T00:00",
  ],
  ["0 0 15,L * *", "UTC", "2026-04-15T00:00", "2026-04-30T00:00 2026-05-15T00:00 2026-05-31T00:00"],
  [
    "10 2 12 8 0",
    "UTC",
    "2026-08-01T00:00",
    "2026-08-02T02:10 2026-08-09T02:10 2026-08-12T02:10 2026-08-16T02:10 2026-08-23T02:10 2026-08-30T02:10 2027-08-01T02:10",
  ],
  ["0 12 1 * MON", "UTC", "2026-05-26T00:00", "2026-06-01T12:00 2026-06-08T12:00 2026-06-15T12:00"],
  [
    "59 23 2 * 6",
    "UTC",
    "2026-01-31T00:00",
    "2026-01-31T23:59 2026-02-02T23:59 2026-02-07T23:59 2026-02-14T23:59",
  ],
  [
    "0 0 1 11 4",
    "UTC",
    "2026-10-20T00:00",
    "2026-11-01T00:00 2026-11-05T00:00 2026-11-12T00:00 2026-11-19T00:00 2026-11-26T00:00",
  ],
  [
    "0 1 2 3 1-3,5",
    "UTC",
    "2026-02-27T00:00",
    "2026-03-02T01:00 2026-03-03T01:00 2026-03-04T01:00 2026-03-06T01:00 2026-03-09T01:00",
  ],
  ["0 0 31 2 1-5", "UTC", "2026-02-26T00:00", "2026-02-27T00:00 2027-02-01T00:00 2027-02-02T00:00"],
  ["30 0 0 * * *", "UTC", "2026-05-01T00:00:29", "2026-05-01T00:00:30 2026-05-02T00:00:30"],
  ["*/5 * 15 * * *", "UTC", "2026-05-01T15:59:54", "2026-05-01T15:59:55 2026-05-02T15:00"],
  [
    "20-40/10 * * * * *",
    "UTC",
    "2026-05-01T15:59:35",
    "2026-05-01T15:59:40 2026-05-01T16:00:20 2026-05-01T16:00:30",
  ],
  [
    "10,20 * * * * *",
    "UTC",
    "2026-05-01T15:59:10.500",
    "2026-05-01T15:59:20 2026-05-01T16:00:10 2026-05-01T16:00:20",
  ],
  ["59 59 23 31 12 *", "UTC", "2026-05-01T00:00", "2026-12-31T23:59:59 2027-12-31T23:59:59"],
  ["0 0 12 * 5 *", "UTC", "2026-05-31T00:00", "2026-05-31T12:00 2027-05-01T12:00"],
  ["@yearly", "UTC", "2026-05-01T00:00", "2027-01-01T00:00 2028-01-01T00:00"],
  ["@monthly", "UTC", "2026-11-30T00:00", "2026-12-01T00:00 2027-01-01T00:00"],
  ["@weekly", "UTC", "2026-05-01T00:00", "2026-05-03T00:00 2026-05-10T00:00"],
  ["@daily", "UTC", "2026-02-27T12:00", "2026-02-28T00:00 2026-03-01T00:00"],
  ["@hourly", "UTC", "2026-12-31T22:30", "2026-12-31T23:00 2027-01-01T00:00"],
  ["30 9 * * 1-5", "Asia/Tokyo", "2026-05-15T00:31", "2026-05-18T00:30 2026-05-19T00:30"],
  ["0 0 1 * *", "Asia/Kolkata", "2026-01-31T18:29:59", "2026-01-31T18:30 2026-02-28T18:30"],
  ["45 23 L * *", "Asia/Kathmandu", "2026-02-01T00:00", "2026-02-28T18:00 2026-03-31T18:00"],
  ["0 12 * * 3", "Europe/Berlin", "2026-03-25T12:00", "2026-04-01T10:00 2026-04-08T10:00 2026-04-15T10:00"],
  [
    "0 12 * * *",
    "America/New_York",
    "2026-10-31T00:00",
    "2026-10-31T16:00 2026-11-01T17:00 2026-11-02T17:00",
  ],
  ["0 8 * * 0", "America/Sao_Paulo", "2018-10-28T00:00", "2018-10-28T11:00 2018-11-04T10:00"],
  ["0 4,5 * * *", "Europe/London", "2026-03-28T12:00", "2026-03-29T03:00 2026-03-29T04:00 2026-03-30T03:00"],
  [
    "0 22,23 * * *",
    "Australia/Sydney",
    "2026-04-04T00:00",
    "2026-04-04T11:00 2026-04-04T12:00 2026-04-05T12:00 2026-04-05T13:00",
  ],
  ["0 0 29 2 *", "Pacific/Auckland", "2026-01-01T00:00", "2028-02-28T11:00"],
  ["0 12 * * *", "Pacific/Apia", "2011-12-28T23:00", "2011-12-29T22:00 2011-12-30T22:00"],
];

describe("ordinary expressions come at the same times everywhere", () => {
  it.each(ordinary)("%s in %s after %s", (cron, timeZone, from, times) => {
    const expected = times.split(" ");
    for (const library of [leasehold, cronParser, croner])
      expect(library(cron, timeZone, from, expected.length)).toEqual(expected);
  });
});

type Answer = readonly string[] | "refuses";

const answerOf = (library: Library, cron: string): Answer => {
  try {
    return library(cron, "UTC", "2026-05-01T00:00", 3).map((time) => time.slice(5));
  } catch {
    return "refuses";
  }
};

const everyDay = ["05-02T00:00", "05-03T00:00", "05-04T00:00"];

const sundays = ["05-03T00:00", "05-10T00:00", "05-17T00:00"];

const hours = ["05-01T01:00", "05-01T02:00", "05-01T03:00"];

const lastFridays = ["05-29T00:00", "06-26T00:00", "07-31T00:00"];

const thirdFridays = ["05-15T00:00", "06-19T00:00", "07-17T00:00"];

interface Answers {
  readonly ours: Answer;
  readonly cronParser: Answer;
  readonly croner: Answer;
}

// What could be read in another way, and is not. After 1 May 2026, a Friday.
const agreements: [cron: string, why: string, answer: Answer][] = [
  [
    "0 0 13 * FRI",
    "day or weekday, as cron has always done it",
    ["05-08T00:00", "05-13T00:00", "05-15T00:00"],
  ],
  ["0 0 1-31 * MON", "a day that is not `*` counts as one, even if it names them all", everyDay],
  ["0 0 16 * 0-6", "the same for weekdays", everyDay],
  ["0 0 */1 * MON", "and for steps", everyDay],
  ["0 0 */2 * MON", "and for steps of two", ["05-03T00:00", "05-04T00:00", "05-05T00:00"]],
  ["0 0 L * MON", "and for the last day", ["05-04T00:00", "05-11T00:00", "05-18T00:00"]],
  ["0 0 * * 7", "7 is Sunday, as 0 is", sundays],
  ["0 0 * * 0-7", "from Sunday to Sunday", everyDay],
  ["30 0 0 2-4 * *", "six fields begin with seconds", everyDay.map((time) => `${time}:30`)],
  ["0 17-9 * * *", "a range that goes backwards is more often a mistake than meant", "refuses"],
  ["0 0 * * FRI-MON", "the same for weekdays: it is two ranges", "refuses"],
  ["0 0 * * L", "the last weekday of what?", "refuses"],
  ["0 0 L-2 * *", "only `L` alone", "refuses"],
  ["@reboot", "there is no boot of a store", "refuses"],
];

// Where dialects of cron differ.
const differences: [cron: string, why: string, answers: Answers][] = [
  [
    "6/23 * * * *",
    "from 6 on, as in many dialects; the meaning is clear",
    {
      ours: ["05-01T00:06", "05-01T00:29", "05-01T00:52"],
      cronParser: ["05-01T00:06", "05-01T00:29", "05-01T00:52"],
      croner: "refuses",
    },
  ],
  [
    "0,0 * * * *",
    "a value that is named twice is there once",
    { ours: hours, cronParser: "refuses", croner: hours },
  ],
  ["0 0 * * 0,7", "so is Sunday", { ours: sundays, cronParser: "refuses", croner: sundays }],
  [
    "0 0 * * MON-SUN",
    "a range of weekdays may end with Sunday, by name, too",
    { ours: everyDay, cronParser: "refuses", croner: everyDay },
  ],
  ["@midnight", "as cron has it", { ours: everyDay, cronParser: "refuses", croner: everyDay }],
  [
    "0 0 31 2 *",
    "never comes, which is better said at once than never",
    { ours: "refuses", cronParser: "refuses", croner: [] },
  ],
  [
    "*/90 * * * *",
    "is no interval of 90 minutes, whatever it looks like",
    { ours: "refuses", cronParser: hours, croner: "refuses" },
  ],
  [
    "* * * *",
    "a field was forgotten, and nobody knows which",
    { ours: "refuses", cronParser: ["05-01T00:01", "05-01T00:02", "05-01T00:03"], croner: "refuses" },
  ],
  [
    "0 0 0 1 1 * 2030",
    "no years: `startAt` and `endAt` are for that",
    { ours: "refuses", cronParser: "refuses", croner: ["01-01T00:00"] },
  ],
  [
    "0 0 ? * MON",
    "`?` is the same as `*`, which the error says",
    {
      ours: "refuses",
      cronParser: ["05-04T00:00", "05-11T00:00", "05-18T00:00"],
      croner: ["05-04T00:00", "05-11T00:00", "05-18T00:00"],
    },
  ],
  [
    "0 0 * * 5L",
    "the last Friday: not in cron, and dialects write it in several ways",
    { ours: "refuses", cronParser: lastFridays, croner: lastFridays },
  ],
  [
    "0 0 * * 5#3",
    "the third Friday: the same",
    { ours: "refuses", cronParser: thirdFridays, croner: thirdFridays },
  ],
  [
    "0 0 15W * *",
    "the weekday nearest to the 15th: the same",
    { ours: "refuses", cronParser: "refuses", croner: ["05-15T00:00", "06-15T00:00", "07-15T00:00"] },
  ],
];

describe("what cron expressions mean", () => {
  const answersTo = (cron: string): Answers => ({
    ours: answerOf(leasehold, cron),
    cronParser: answerOf(cronParser, cron),
    croner: answerOf(croner, cron),
  });

  it.each(agreements)("%s: %s", (cron, _why, answer) => {
    expect(answersTo(cron)).toEqual({ ours: answer, cronParser: answer, croner: answer });
  });

  it.each(differences)("where dialects differ, %s: %s", (cron, _why, answers) => {
    expect(answersTo(cron)).toEqual(answers);
  });
});
